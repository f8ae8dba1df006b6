"""The bar in which a remark to the model is typed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Label


class RemarkBar(Horizontal):
    """One line of text, hidden until it is asked for; enter gives it, escape drops it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "drop", "Drop the remark", show=False, id="remark.drop")]
    DEFAULT_CSS = """
    RemarkBar { height: 1; background: $panel; }
    RemarkBar Input { width: 1fr; }
    RemarkBar Label { width: auto; padding: 0 1; }
    """

    @dataclass
    class Given(Message):
        """The remark was given, or dropped where ``text`` is empty."""

        text: str

    def compose(self) -> ComposeResult:
        """What it is for, and the text."""
        yield Label("remark:", markup=False)
        yield Input(compact=True, placeholder="what the model should do; enter sends it, escape drops it")

    def on_mount(self) -> None:
        """Nothing is asked yet."""
        self.display = False

    def ask(self) -> None:
        """Show it; keys go to it at once, also those that were typed ahead."""
        self.display = True
        self.screen.set_focus(self.query_one(Input))

    def _give(self, text: str) -> None:
        self.query_one(Input).clear()
        self.display = False
        self.post_message(self.Given(text))

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._give(event.value.strip())

    def action_drop(self) -> None:
        """Say nothing."""
        self._give("")
