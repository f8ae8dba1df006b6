"""What the ranks wrote, and where they stand when they seem stuck."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from widgets import format as fmt
from widgets.layout import wrapped
from widgets.output import LogLine, Output
from widgets.reading import KEYS_HELP, ReadingPane
from widgets.state import RunView

_STYLES = {"stdout": "", "stderr": "$text-warning", "stack": "$text-error", "attempt": "dim"}
_SIGNS = {"stdout": "|", "stderr": "!", "stack": ":"}


class LogPane(ReadingPane):
    """Output of all ranks, or of one; follows the end unless scrolled away from it."""

    HELP = f"""
### Log

Each line begins with its rank: `0|` output, `0!` error output, `0:` a stack taken while the rank seemed stuck.
The newest lines are kept; how many older ones were dropped is said at the top.
Digits choose ranks here; `tab` goes on to the next pane.

- `0` to `7`: that rank alone; `a`: all ranks
- `f`: follow the end, or stay here; `w`: wrap long lines, or cut them (`l` goes right)
{KEYS_HELP.lstrip()}"""
    BINDINGS: ClassVar[list[BindingType]] = [
        *[Binding(str(rank), f"rank({rank})", f"Rank {rank}", show=False, id=f"log.rank{rank}") for rank in range(8)],
        Binding("a", "rank(-1)", "All ranks", show=False, id="log.all"),
        Binding("w", "wrap", "Wrap lines", show=False, id="log.wrap"),
        Binding("f", "follow", "Follow the end", show=False, id="log.follow"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.rank: int | None = None
        self.follow = True
        self.wrap = False
        self._output = Output()
        self._contents: list[Content] = []

    def show_view(self, view: RunView) -> None:
        """Show another view."""
        if view.output is not self._output:
            self._contents = _contents(self._output, self._contents, view.output)
            self._output = view.output
            self.relayout()

    def show_rank(self, rank: int | None) -> None:
        """Show the output of one rank, or of all."""
        self.rank = rank
        self.relayout()

    def relayout(self, follow: bool = False) -> None:
        """Stay at the end while following it; scrolling up stops that, scrolling back to the end resumes it."""
        super().relayout(self.follow and (follow or self.lines.at_end))

    def build(self, width: int) -> list[Content]:
        """The filter, the count of dropped lines, the lines."""
        top = []
        if self.rank is not None:
            top.append(Content.styled(f"rank {self.rank} alone; a shows all", "bold"))
        if self._output.dropped:
            top.append(Content.styled(f"{fmt.count(self._output.dropped)} earlier lines dropped", "dim"))
        lines = list(zip(self._output.lines, self._contents, strict=True))
        kept = [content for line, content in lines if self.rank is None or line.rank in (None, self.rank)]
        if not any(line.rank is not None for line in self._output.lines):
            return [*top, Content.styled("the ranks have written nothing", "dim")]
        if self.wrap:
            kept = [part for line in kept for part in wrapped(line, width, indent=3)]
        return [*top, *kept]

    def copied(self) -> tuple[str, str]:
        """The lines without their ranks when one rank alone is shown."""
        own = (line for line in self._output.lines if line.rank is not None)
        lines = [line for line in own if self.rank in (None, line.rank)]
        prefix = self.rank is None
        return "\n".join(_prefix(line) * prefix + line.text for line in lines), "the output"

    def action_rank(self, rank: int) -> None:
        """Filter."""
        self.show_rank(None if rank < 0 else rank)

    def action_wrap(self) -> None:
        """Wrap, or cut."""
        self.wrap = not self.wrap
        self.relayout()

    def action_follow(self) -> None:
        """Follow, or stay."""
        self.follow = not self.follow
        self.relayout(follow=True)


def _prefix(line: LogLine) -> str:
    return "" if line.rank is None else f"{line.rank}{_SIGNS[line.kind]} "


def _content(line: LogLine) -> Content:
    prefix = Content.styled(_prefix(line), "dim")
    text = f"-- {line.text}" if line.kind == "attempt" else line.text
    return prefix + Content.styled(text, _STYLES[line.kind])


def _contents(old: Output, contents: list[Content], new: Output) -> list[Content]:
    """Contents of the new lines; those of lines that were there before are taken over."""
    gone = new.dropped - old.dropped
    same = len(old.lines) - gone
    while same > 0 and (same > len(new.lines) or old.lines[gone + same - 1] is not new.lines[same - 1]):
        same -= 1
    kept = contents[gone : gone + same] if same > 0 else []
    return [*kept, *(_content(line) for line in new.lines[len(kept) :])]
