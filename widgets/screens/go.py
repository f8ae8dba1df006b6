"""Go to a pane by its digit, from anywhere, the editor included."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from widgets.frame import PLACES
from widgets.screens.dialog import Dialog


class GoScreen(Dialog[str]):
    """Ends with the pane's name, or with an empty string."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q,ctrl+o", "dismiss('')", "Back", id="go.back")]

    def compose(self) -> ComposeResult:
        """The panes and their digits."""
        with Vertical(classes="dialog") as box:
            box.border_title = "Go to"
            box.styles.width = 30
            lines = [
                Content.from_markup("[bold reverse] $digit [/] $title", digit=p.digit, title=p.title) for p in PLACES
            ]
            yield Static(Content("\n").join(lines))

    def on_key(self, event: events.Key) -> None:
        """A digit goes to its pane."""
        for place in PLACES:
            if event.key == place.digit:
                event.stop()
                self.dismiss(place.name)
