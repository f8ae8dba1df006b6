"""The editor with its frame: file name and state above, cursor place and the line's diagnostic below, find bar."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import TextArea

from widgets.editor import HIGHLIGHT_LINES, KernelEditor, Mark
from widgets.editor_find import FindBar
from widgets.plain import plain
from widgets.state import RunView

_WORST_FIRST = ("error", "warning", "note")


class EditorPane(Vertical):
    """The working file: a :class:`KernelEditor`, whether it is saved, and the find bar."""

    def __init__(self, path: Path, text: str, *, blink: bool = True, editor: type[KernelEditor] = KernelEditor) -> None:
        super().__init__(id="editor-pane")
        self._path = path
        self.editor = editor(text, blink=blink, id="editor")
        self.saved_text = self.editor.text
        """What the file on disk holds, as the editor would write it."""
        self._saved_at = 0.0
        self._shown: tuple[str, str] = ("", "")
        self._marked: tuple[Any, ...] = ()

    def compose(self) -> ComposeResult:
        """The editor and, below it, the hidden find bar."""
        yield self.editor
        yield FindBar(self.editor)

    def on_mount(self) -> None:
        """Show name and place at once."""
        self.show_state()

    @property
    def dirty(self) -> bool:
        """Whether the pane holds text that the file does not."""
        return self.editor.text != self.saved_text

    def set_saved(self, text: str, when: float | None = None) -> None:
        """The file now holds ``text``; ``when`` is the time of a save, in seconds since the epoch."""
        self.saved_text = text
        self._saved_at = when if when is not None else self._saved_at
        self.show_state()

    def take_disk(self, text: str, when: float) -> None:
        """Show the file's new content in place."""
        self.editor.merge_text(text)
        self.set_saved(self.editor.text, when)

    def on_text_area_changed(self, _event: TextArea.Changed) -> None:
        """The state follows each edit."""
        self.editor.colour()
        self.show_state()

    def on_text_area_selection_changed(self, _event: TextArea.SelectionChanged) -> None:
        """The place follows the cursor."""
        self.show_state()

    def on_kernel_editor_find_asked(self, event: KernelEditor.FindAsked) -> None:
        """Open the find bar."""
        event.stop()
        self.query_one(FindBar).ask("line" if event.kind == "line" else "find")

    def show_state(self) -> None:
        """Bring title and subtitle up to date, touching the screen only where they change."""
        title, place = self._title(), self._place()
        if (title, place) != self._shown:
            self._shown = (title, place)
            self.border_title = Content(title)
            self.border_subtitle = Content(place)

    def _title(self) -> str:
        if self.dirty:
            return f"4 ● not saved · {self._path.name}"
        saved = time.strftime("%H:%M:%S", time.localtime(self._saved_at)) if self._saved_at else ""
        return f"4 {self._path.name} · saved {saved}" if saved else f"4 {self._path.name}"

    def _place(self) -> str:
        row, column = self.editor.cursor_location
        mark = self.editor.mark_here()
        note = f"{mark.severity}: {mark.message[:120]} · " if mark else self._elsewhere()
        colours = "" if self.editor.document.line_count <= HIGHLIGHT_LINES else "colours off, long file · "
        return f"{note}{colours}{row + 1}:{column + 1}"

    def _elsewhere(self) -> str:
        lines = sorted(self.editor.marks)
        return f"{self.editor.marks[lines[0]].severity} in line {lines[0] + 1} · " if lines else ""

    def show_view(self, view: RunView) -> None:
        """Mark the lines of the attempt's diagnostics that lie in this file."""
        if view.current.diagnostics is self._marked or view.current.origin == "model":
            return
        self._marked = view.current.diagnostics
        marks: dict[int, Mark] = {}
        for item in sorted(view.current.diagnostics, key=lambda one: _WORST_FIRST.index(one.severity)):
            if item.line and Path(item.path).name in ("", self._path.name):
                first = item.message.partition("\n")[0]
                marks.setdefault(item.line - 1, Mark(item.line - 1, item.severity, plain(first)))
        self.editor.show_marks(marks)
        self.show_state()
