"""Help: for the focused pane, and the sheet of all keys."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Markdown, Static

from widgets.screens.dialog import Dialog

KeyRow = tuple[str, str, str, str]
"""Group, keys, title, help."""


class HelpScreen(Dialog[None]):
    """A page of Markdown; any of escape, q, f1 and f10 closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f1,f10", "dismiss", "Close", id="help.close"),
        Binding("down,j", "scroll(1)", "Down", id="help.down"),
        Binding("up,k", "scroll(-1)", "Up", id="help.up"),
        Binding("pagedown,space,ctrl+d", "scroll(10)", "Page down", id="help.page_down"),
        Binding("pageup,ctrl+u", "scroll(-10)", "Page up", id="help.page_up"),
    ]

    def __init__(self, title: str, text: str, rows: list[KeyRow]) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._rows = rows

    def compose(self) -> ComposeResult:
        """The text first, then the keys."""
        with Vertical(classes="dialog -tall") as box:
            box.border_title = Content(self._title)
            box.border_subtitle = "escape closes, j and k scroll"
            with VerticalScroll(classes="body", id="help-body"):
                if self._text:
                    yield Markdown(self._text)
                yield Static(key_sheet(self._rows), id="help-keys")

    def action_scroll(self, step: int) -> None:
        """Scroll by lines."""
        self.query_one("#help-body").scroll_relative(y=step, animate=False)


def key_sheet(rows: list[KeyRow]) -> Content:
    """The rows in columns, a heading for each group."""
    width = max((len(keys) for _, keys, _, _ in rows), default=0) + 2
    titles = max((len(title) for _, _, title, _ in rows), default=0) + 2
    parts: list[Content] = []
    group = ""
    for row_group, keys, title, help in rows:
        if row_group != group:
            group = row_group
            parts.append(Content.assemble("\n" if parts else "", (group, "bold $primary")))
        parts.append(Content.assemble((f"  {keys:<{width}}", "bold"), f"{title:<{titles}}", (help, "$foreground 80%")))
    return Content("\n").join(parts)
