"""The reference's code, highlighted."""

from __future__ import annotations

from pygments.token import Token  # type: ignore[import-untyped]
from textual.content import Content
from textual.highlight import HighlightTheme, TokenType, highlight

from problems.model import Problem
from widgets.plain import plain_lines
from widgets.reading import KEYS_HELP, ReadingPane
from widgets.state import RunView
from workbench.errors import ProblemError
from workbench.target import Target

_HIGHLIGHT_LINES = 5000


class CodeTheme(HighlightTheme):
    """Few colours, all of them the theme's own, so that they also hold in a terminal's sixteen."""

    STYLES: dict[TokenType, str] = {
        Token.Comment: "dim italic",
        Token.Keyword: "bold $text-accent",
        Token.Keyword.Constant: "$text-warning",
        Token.Literal.Number: "$text-warning",
        Token.Literal.String: "$text-success",
        Token.Literal.String.Doc: "$text-success italic",
        Token.Name.Builtin: "$text-primary",
        Token.Name.Class: "bold",
        Token.Name.Decorator: "$text-accent",
        Token.Name.Function: "bold",
        Token.Operator.Word: "bold $text-accent",
    }


class ReferencePane(ReadingPane):
    """The code that a solution must match, with line numbers."""

    HELP = f"""
### Reference

The code whose results a solution must match, and whose time it is compared with.
{KEYS_HELP}"""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self._problem = target.problem
        self._text: str | None = None
        self._code: list[Content] = []

    def on_mount(self) -> None:
        """The code does not change with the runs."""
        self._text, self._code = _read(self._problem)
        self.relayout()

    def show_view(self, view: RunView) -> None:
        """Runs change nothing here."""

    def build(self, width: int) -> list[Content]:
        """Numbered lines."""
        digits = len(str(len(self._code)))
        return [
            Content.styled(f"{number:>{digits}}  ", "dim") + line if self._text is not None else line
            for number, line in enumerate(self._code, 1)
        ]

    def copied(self) -> tuple[str, str]:
        """The code without the numbers."""
        return self._text or "", "the reference"


def _read(problem: Problem) -> tuple[str | None, list[Content]]:
    """The text and its highlighted lines; no text and a sentence where it cannot be read."""
    try:
        text = problem.reference_source()
    except (OSError, UnicodeDecodeError, ProblemError) as error:
        return None, [Content(f"the reference cannot be read: {error}")]
    shown = "\n".join(plain_lines(text.rstrip("\n")))
    short = shown.count("\n") < _HIGHLIGHT_LINES
    content = highlight(shown, language="python", theme=CodeTheme) if short else Content(shown)
    return text, content.split("\n", allow_blank=True)
