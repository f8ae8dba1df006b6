"""One row below the editor: find text, or go to a line."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Label

from widgets.editor import KernelEditor

_PROMPTS = {"find": "find ", "line": "line "}


class FindBar(Horizontal):
    """Hidden until asked for; Enter goes on to the next match, escape goes back to the text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Back to the text", id="find.close"),
        Binding("up", "step(-1)", "Previous match", id="find.up"),
        Binding("down", "step(1)", "Next match", id="find.down"),
    ]

    def __init__(self, editor: KernelEditor) -> None:
        super().__init__(id="find-bar")
        self._editor = editor
        self._kind: Literal["find", "line"] = "find"
        self._origin = (0, 0)

    def compose(self) -> ComposeResult:
        """Prompt, input, and how many matches there are."""
        yield Label("", id="find-prompt")
        yield Input(id="find-input", compact=True, select_on_focus=True)
        yield Label("", id="find-count")

    def on_mount(self) -> None:
        """Stay out of sight until asked."""
        self.display = False

    def ask(self, kind: Literal["find", "line"]) -> None:
        """Show the bar for one of its two uses."""
        self._kind = kind
        self._origin = self._editor.cursor_location
        box = self.query_one(Input)
        with box.prevent(Input.Changed):
            box.value = (self._editor.selected_text or self._editor.needle) if kind == "find" else ""
        self.query_one("#find-prompt", Label).update(_PROMPTS[kind])
        self.query_one("#find-count", Label).update("")
        self.display = True
        box.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Show the first match from where the search began, while the user types."""
        event.stop()
        if self._kind == "find":
            self._editor.move_cursor(self._origin)
            self._search(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter: the next match, or the line."""
        event.stop()
        if self._kind == "find":
            self.action_step(1)
        elif event.value.strip().isdigit():
            self._editor.go_to(int(event.value))
            self.action_close()
        else:
            self.query_one("#find-count", Label).update("a line is a number")

    def action_step(self, step: int) -> None:
        """Go to the next or previous match."""
        if self._kind == "find":
            self._search(self.query_one(Input).value, step)

    def action_close(self) -> None:
        """Hide the bar and go back to the text."""
        self.display = False
        self._editor.focus()

    def _search(self, needle: str, step: int = 1) -> None:
        number, count = self._editor.find(needle, step)
        text = f"{number} of {count}" if count else "nothing found" if needle else ""
        self.query_one("#find-count", Label).update(text)
