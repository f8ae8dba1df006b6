"""Errors and warnings with their place in the working file."""

from __future__ import annotations

from textual.content import Content

from widgets.messages import JumpTo
from widgets.plain import plain
from widgets.reading import KEYS_HELP, ReadingPane
from widgets.state import RunView
from widgets.words import SEVERITY
from workbench.events import Diagnostic

_WIDE = 60
"""Cells from which on places stand below each other."""


class DiagnosticsPane(ReadingPane):
    """One line a diagnostic; choosing one moves the editor's cursor there."""

    HELP = f"""
### Diagnostics

Errors, warnings and notes of the build, the import and the ranks. `enter` or a click goes to that line in the editor.
{KEYS_HELP}"""

    def __init__(self) -> None:
        super().__init__()
        self._shown: tuple[Diagnostic, ...] = ()
        self._number = 0

    def show_view(self, view: RunView) -> None:
        """Show another view."""
        if (view.attempt, view.current.diagnostics) != (self._number, self._shown):
            self._number, self._shown = view.attempt, view.current.diagnostics
            self.relayout()

    def build(self, width: int) -> list[Content]:
        """One line each, the message last."""
        if not self._shown:
            return [Content.styled("no errors or warnings", "dim")]
        return [_line(one, width >= _WIDE) for one in self._shown]

    def choices(self) -> range:
        """Every diagnostic."""
        return range(len(self._shown))

    def chosen(self, line: int) -> None:
        """Jump there."""
        place = self._shown[line]
        self.post_message(JumpTo(place.line, place.column))


def _line(one: Diagnostic, wide: bool) -> Content:
    look = SEVERITY[one.severity]
    place = f"{one.line}:{one.column}" if one.column else str(one.line) if one.line else "-"
    rank = "" if one.rank is None else f"  (rank {one.rank})"
    first, *more = [plain(line) for line in one.message.splitlines()] or [""]
    rest = f" {' '.join(line.strip() for line in more)}" if more else ""
    word, place = (f"{one.severity:<8}", f"{place:<8}") if wide else (one.severity, place)
    return Content.styled(f"{look.sign} {word}", look.style) + f" {place} {first}{rest}{rank}"
