"""The editor: a TextArea for one kernel file, with marked lines, find, go to line and comments."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.document._document import Document
from textual.message import Message
from textual.strip import Strip
from textual.widgets import TextArea

from widgets import line_ends
from widgets.editor_theme import code_theme_of, code_themes

HIGHLIGHT_LINES = 1500
"""Above this many lines each edit would take too long to colour."""
_SIGNS = {"error": "✗", "warning": "!", "note": "·"}
_DROPPED = {"f5", "f6", "f7", "ctrl+a"}


@dataclass(frozen=True)
class Mark:
    """A line that a diagnostic points to; ``line`` counts from 0."""

    line: int
    severity: str
    message: str


def _kept(binding: Binding, replaced: set[str]) -> Binding | None:
    """A binding of TextArea without keys that are taken or that terminals do not send."""
    keys = [key for key in binding.key.split(",") if key not in replaced | _DROPPED and "alt+" not in key]
    keys = [key for key in keys if not key.startswith("super+")]
    return Binding(",".join(keys), binding.action, binding.description, show=False) if keys else None


def movement_bindings(replaced: set[str]) -> list[BindingType]:
    """TextArea's own bindings less the ``replaced`` keys."""
    all_of_them = [binding for binding in TextArea.BINDINGS if isinstance(binding, Binding)]
    return [kept for kept in (_kept(binding, replaced) for binding in all_of_them) if kept is not None]


class KernelEditor(TextArea, inherit_bindings=False):
    """The working file's text. What the keys do is set by the app's table of actions."""

    HELP: ClassVar[str] = """
### Editor

The working file. Saving writes it at once and judges it on every rank; any other editor works just as well on the
same file. Lines with an error or warning carry a sign beside their number.

Text that is not saved yet is kept in a recovery file and offered again after a crash.
"""
    BINDINGS: ClassVar[list[BindingType]] = []

    @dataclass
    class FindAsked(Message):
        """The user wants to find text, or to go to a line."""

        kind: str

    class Left(Message):
        """The user leaves the editor."""

    def __init__(self, text: str = "", *, blink: bool = True, id: str | None = None) -> None:
        super().__init__(
            "", id=id, soft_wrap=False, tab_behavior="indent", show_line_numbers=True, compact=True, max_checkpoints=500
        )
        self.cursor_blink = blink
        self.marks: Mapping[int, Mark] = {}
        """Marked lines by their number, from 0."""
        self.needle = ""
        """What find looks for."""
        for theme in code_themes():
            self.register_theme(theme)
        self.load_text(text)

    def on_mount(self) -> None:
        """Follow the app's colour theme; the grammar is loaded after the first screen."""
        self._follow_theme()
        self.set_timer(0.02, self.colour)
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self._follow_theme())

    def _follow_theme(self) -> None:
        self.theme = code_theme_of(self.app.theme)

    @property
    def highlighted(self) -> bool:
        """Whether the code is coloured; large files are not."""
        return self.language == "python"

    @property
    def text(self) -> str:
        """The text as it is written to the file."""
        return line_ends.shown(self.document.text)

    @text.setter
    def text(self, value: str) -> None:
        self.load_text(value)

    def get_line(self, line_index: int) -> Text:
        """A line as it is drawn."""
        line = super().get_line(line_index)
        line.plain = line_ends.drawn(line.plain)
        return line

    @property
    def selected_text(self) -> str:
        """The selected text as it is in the file."""
        return line_ends.shown(super().selected_text)

    def _set_document(self, text: str, language: str | None) -> None:
        super()._set_document(line_ends.hidden(text), language)

    def load(self, text: str) -> None:
        """Show another file; cursor and undo history start anew."""
        self.load_text(text)
        self.colour()

    def colour(self) -> None:
        """Colour the code, or stop doing so in a file that has grown too long."""
        language = "python" if self.document.line_count <= HIGHLIGHT_LINES else None
        if self.language != language:
            self.language = language

    def merge_text(self, text: str) -> None:
        """Become ``text`` by replacing only the lines that differ: cursor, scroll position and undo history stay."""
        shown = line_ends.hidden(text)
        newline = line_ends.newline(shown)
        if newline != self.document.newline:
            self.load(text)
            return
        old, new = self.document.text.split(newline), shown.split(newline)
        top = _common(old, new)
        bottom = _common(old[top:][::-1], new[top:][::-1])
        cursor, scroll = self.cursor_location, self.scroll_offset
        self._replace_lines(old, top, len(old) - bottom, new[top : len(new) - bottom])
        shift = len(new) - len(old) if cursor[0] >= len(old) - bottom else 0
        self.move_cursor(self.clamp_visitable((cursor[0] + shift, cursor[1])))
        self.scroll_to(scroll.x, scroll.y, animate=False)

    def _replace_lines(self, old: list[str], first: int, end: int, lines: list[str]) -> None:
        """Lines [first, end) become ``lines``; at the file's end the newline before them goes with them."""
        if first == end and not lines:
            return
        if end < len(old):
            self.replace("".join(f"{line}\n" for line in lines), (first, 0), (end, 0))
        elif first:
            self.replace("".join(f"\n{line}" for line in lines), (first - 1, len(old[first - 1])), self.document.end)
        else:
            self.replace("\n".join(lines), (0, 0), self.document.end)

    def show_marks(self, marks: Mapping[int, Mark]) -> None:
        """Mark these lines and no others."""
        if marks != self.marks:
            self.marks = marks
            self._line_cache.clear()
            self.refresh()

    def mark_here(self) -> Mark | None:
        """The mark of the cursor's line."""
        return self.marks.get(self.cursor_location[0])

    def _render_line(self, y: int) -> Strip:
        strip = super()._render_line(y)
        place = self.wrapped_document._offset_to_line_info
        row = y + self.scroll_offset.y
        mark = self.marks.get(place[row][0]) if row < len(place) else None
        return strip if mark is None else self._signed(strip, mark)

    def _signed(self, strip: Strip, mark: Mark) -> Strip:
        """The line with the mark's sign at the end of its gutter, its text underlined for errors."""
        width = self.gutter_width
        style = Style.parse("bold") + self._severity_style(mark.severity)
        number = strip.crop(0, max(0, width - 2))
        return Strip.join([number, Strip([Segment(f"{_SIGNS[mark.severity]} ", style)]), strip.crop(width)])

    def _severity_style(self, severity: str) -> Style:
        variable = {"error": "error", "warning": "warning"}.get(severity, "secondary")
        colour = self.app.theme_variables.get(variable, "red").replace("ansi_", "")
        background = self.rich_style.bgcolor
        return Style(color=colour, bgcolor=background, reverse=severity == "error")

    def go_to(self, line: int, column: int = 0) -> None:
        """Move the cursor to a place that counts from 1, and show it in the middle of the pane."""
        target = self.clamp_visitable((max(0, line - 1), max(0, column - 1)))
        self.move_cursor(target, center=True)

    def next_mark(self) -> Mark | None:
        """The first mark below the cursor's line, or the first of all."""
        here = self.cursor_location[0]
        lines = sorted(self.marks)
        after = [line for line in lines if line > here] or lines
        return self.marks[after[0]] if after else None

    @property
    def _document(self) -> Document:
        assert isinstance(self.document, Document)
        return self.document

    def find(self, needle: str, step: int = 1) -> tuple[int, int]:
        """Select the next (or previous) match; its number from 1, and how many there are."""
        self.needle = needle
        matches = find_all(self.text, needle)
        if not matches:
            return 0, 0
        here = self._document.get_index_from_location(min(self.selection))
        index = _neighbour(matches, here, step)
        start = self._document.get_location_from_index(matches[index])
        self.move_cursor(start, center=True)
        self.move_cursor((start[0], start[1] + len(needle)), select=True)
        return index + 1, len(matches)

    def action_find(self) -> None:
        """Ask for text to find."""
        self.post_message(self.FindAsked("find"))

    def action_goto_line(self) -> None:
        """Ask for a line number."""
        self.post_message(self.FindAsked("line"))

    def action_find_next(self, step: int) -> None:
        """Go to the next or previous match, or ask for the text."""
        if self.needle:
            self.find(self.needle, step)
        else:
            self.action_find()

    def action_leave_editor(self) -> None:
        """Leave for the next pane."""
        self.post_message(self.Left())

    def action_comment(self) -> None:
        """Comment the selected lines out, or in where all of them are comments."""
        first, last = sorted((self.selection.start[0], self.selection.end[0]))
        lines = [self.document.get_line(row) for row in range(first, last + 1)]
        changed = toggle_comments(lines)
        self.replace("\n".join(changed), (first, 0), (last, len(lines[-1])))

    async def _on_key(self, event: Any) -> None:
        """Keep Enter at the indentation of the line, one step deeper after a colon; leave escape to the bindings."""
        if event.key not in ("enter", "escape"):
            await super()._on_key(event)
            return
        event.prevent_default()
        if event.key == "enter" and not self.read_only:
            event.stop()
            (row, column), _ = sorted(self.selection)
            lead = indentation(self.document.get_line(row)[:column], self.indent_width)
            self._replace_via_keyboard("\n" + lead, *self.selection)


def indentation(before: str, width: int) -> str:
    """What a new line after ``before`` begins with."""
    lead = before[: len(before) - len(before.lstrip(" \t"))]
    return lead + " " * width if before.rstrip().endswith(":") else lead


def find_all(text: str, needle: str) -> list[int]:
    """Where ``needle`` occurs; letters match both cases unless it holds a capital."""
    if not needle:
        return []
    flags = 0 if needle != needle.lower() else re.IGNORECASE
    return [match.start() for match in re.finditer(re.escape(needle), text, flags)]


def toggle_comments(lines: list[str]) -> list[str]:
    """Lines with ``# `` put before their text, or taken away where every line that holds text has it."""
    full = [line for line in lines if line.strip()]
    if full and all(line.lstrip().startswith("#") for line in full):
        return [re.sub(r"^(\s*)# ?", r"\1", line) for line in lines]
    indent = min((len(line) - len(line.lstrip()) for line in full), default=0)
    return [f"{line[:indent]}# {line[indent:]}" if line.strip() else line for line in lines]


def _common(one: list[str], other: list[str]) -> int:
    """How many items the two have in common at their start."""
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _neighbour(matches: list[int], here: int, step: int) -> int:
    if step > 0:
        return next((index for index, place in enumerate(matches) if place > here), 0)
    before = [index for index, place in enumerate(matches) if place < here]
    return before[-1] if before else len(matches) - 1
