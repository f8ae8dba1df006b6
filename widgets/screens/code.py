"""Text to read in a screen of its own: the machine code of kernels."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from widgets.plain import plain
from widgets.screens.dialog import Dialog

MOST_LINES = 5000


class CodeScreen(Dialog[None]):
    """Lines of text with a title; escape and q close it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "Close", id="code.close"),
        Binding("down,j", "scroll(1)", "Down", id="code.down"),
        Binding("up,k", "scroll(-1)", "Up", id="code.up"),
        Binding("pagedown,space,ctrl+d", "scroll(15)", "Page down", id="code.page_down"),
        Binding("pageup,ctrl+u", "scroll(-15)", "Page up", id="code.page_up"),
        Binding("g", "scroll(-1000000)", "Top", id="code.top"),
        Binding("G", "scroll(1000000)", "End", id="code.end"),
    ]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        lines = text.splitlines()
        more = [f"... {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
        self._lines = [plain(line) for line in lines[:MOST_LINES]] + more

    def compose(self) -> ComposeResult:
        """The lines, which scroll."""
        with Vertical(classes="dialog -tall") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = "escape closes, j and k scroll"
            with VerticalScroll(classes="body", id="code-body"):
                yield Static(Content("\n".join(self._lines)), id="code-text")

    def action_scroll(self, step: int) -> None:
        """Scroll by lines."""
        self.query_one("#code-body").scroll_relative(y=step, animate=False)
