"""Styled lines that scroll, are searched and selected; only the lines that changed are painted again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual import events
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.visual import Visual

CURSOR = "bold $block-cursor-foreground on $block-cursor-background"
MATCH = "reverse"
CURRENT_MATCH = "bold underline reverse"


@dataclass(frozen=True)
class Match:
    """A place where the searched text stands: line, and the span of characters in it."""

    line: int
    start: int
    end: int


class Lines(ScrollView, can_focus=True, inherit_bindings=False):
    """Lines of text, with a cursor line where ``choices`` says which lines can be chosen."""

    ALLOW_SELECT = True
    DEFAULT_CSS = """
    Lines {
        width: 1fr;
        height: 1fr;
        text-wrap: nowrap;
        text-overflow: clip;
        scrollbar-size-vertical: 1;
        scrollbar-size-horizontal: 0;
        scrollbar-gutter: stable;
        scrollbar-background: $panel;
        scrollbar-background-hover: $panel;
        scrollbar-background-active: $panel;
    }
    """

    @dataclass
    class Resized(Message):
        """The room for text has changed; ``width`` is in cells."""

        width: int

    @dataclass
    class Chosen(Message):
        """A line was clicked that can be chosen."""

        line: int

    @dataclass
    class Moved(Message):
        """The cursor is on another line."""

        line: int

    def __init__(self) -> None:
        super().__init__()
        self._lines: list[Content] = []
        self._matches: dict[int, list[Match]] = {}
        self._match: Match | None = None
        self._shown = Size(0, 0)
        self.choices: range = range(0)
        self.cursor = -1
        self.keeps_cursor = False
        """Whether the cursor shows also while keys go elsewhere."""
        self.at_end = True
        """Whether the last line was in sight after the latest scrolling, or nothing has been scrolled yet."""

    @property
    def room(self) -> int:
        """Cells across, of a hidden pane as it was last seen; 0 before the first layout."""
        return self._seen.width

    @property
    def _seen(self) -> Size:
        return self.scrollable_content_region.size or self._shown

    @property
    def texts(self) -> list[str]:
        """The lines without their styles."""
        return [line.plain for line in self._lines]

    def set_lines(self, lines: Sequence[Content], choices: range = range(0), follow: bool = False) -> None:
        """Show these lines; ``follow`` keeps the last one in sight."""
        old, self._lines = self._lines, list(lines)
        self.choices = choices
        cursor = self.cursor
        self._place_cursor(cursor)
        size = Size(max(self.room, *(line.cell_length for line in self._lines), 0), len(self._lines))
        if size != self.virtual_size:
            self.virtual_size = size
        if follow:
            self.scroll_end(animate=False, immediate=True, x_axis=False, force=True)
        self._refresh_changed(old)
        self._refresh_rows({cursor, self.cursor} if cursor != self.cursor else set())

    def move(self, rows: int) -> None:
        """Move the cursor, or scroll where there is none."""
        if self.choices:
            self.move_to(self.cursor + rows)
        else:
            self.scroll_to(y=self.scroll_offset.y + rows, animate=False, force=True)

    def move_to(self, row: int) -> None:
        """Put the cursor on a line, or scroll to it."""
        if not self.choices:
            self.scroll_to(y=row, animate=False, force=True)
            return
        old = self.cursor
        self._place_cursor(row)
        self._refresh_rows({old, self.cursor})
        self.reveal(self.cursor)
        if old != self.cursor:
            self.post_message(self.Moved(self.cursor))

    def reveal(self, row: int, columns: tuple[int, int] = (0, 0)) -> None:
        """Scroll as little as is needed to bring a line, and a span of it, into sight."""
        width, height = self._seen
        if not height:
            return
        x, y = self.scroll_offset
        if not y <= row < y + height:
            y = row - height // 2 if columns != (0, 0) else row if row < y else row - height + 1
        if columns[1] > x + width or columns[0] < x:
            x = max(0, columns[1] - width) if columns[1] > width else 0
        self.scroll_to(x=x, y=max(0, y), animate=False, force=True)

    def mark(self, matches: list[Match], current: Match | None) -> None:
        """Show where the searched text stands; ``current`` is the one that is looked at."""
        old, self._matches, self._match = self._matches, {}, current
        for match in matches:
            self._matches.setdefault(match.line, []).append(match)
        top = self.scroll_offset.y
        rows = {row for row in range(top, top + self.size.height) if row in old or row in self._matches}
        self._refresh_rows(rows)

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Remember whether the end is looked at; growing or shrinking alone does not change that."""
        super().watch_scroll_y(old_value, new_value)
        self.at_end = round(new_value) >= self.max_scroll_y

    def render_line(self, y: int) -> Strip:
        """One line of the screen."""
        scroll_x, scroll_y = self.scroll_offset
        row, width = scroll_y + y, self.size.width
        if row >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        content = self._styled(row)
        strips = Visual.to_strips(
            self, content, max(1, content.cell_length), 1, self.visual_style, apply_selection=False
        )
        strip = strips[0] if strips else Strip([])
        return strip.crop_extend(scroll_x, scroll_x + width, self.rich_style).apply_offsets(scroll_x, row)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text that the mouse has selected."""
        start = selection.start
        if not self._lines or (start is not None and start.y >= len(self._lines)):
            return None
        return selection.extract("\n".join(self.texts)), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """The mouse has selected more, or less."""
        self.refresh()

    def on_focus(self) -> None:
        """The cursor shows only where keys go."""
        self._refresh_rows({self.cursor})

    def on_blur(self) -> None:
        """The cursor shows only where keys go."""
        self._refresh_rows({self.cursor})

    def on_resize(self) -> None:
        """The pane lays its text out anew."""
        before, self._shown = self._shown, self._seen
        if self._shown.width != before.width:
            self.post_message(self.Resized(self._shown.width))

    def on_click(self, event: events.Click) -> None:
        """A click on a line that can be chosen chooses it."""
        row = event.y + self.scroll_offset.y
        if row in self.choices:
            self.move_to(row)
            self.post_message(self.Chosen(row))

    def _styled(self, row: int) -> Content:
        content = self._lines[row]
        if row == self.cursor and (self.has_focus or self.keeps_cursor):
            content = Content(content.plain.ljust(self.room)).stylize(CURSOR)
        for match in self._matches.get(row, ()):
            content = content.stylize(CURRENT_MATCH if match is self._match else MATCH, match.start, match.end)
        selection = self.text_selection
        span = selection.get_span(row) if selection is not None else None
        if span is None:
            return content
        style = Style.from_styles(self.screen.get_component_styles("screen--selection"))
        return content.stylize(style, span[0], None if span[1] == -1 else span[1])

    def _place_cursor(self, row: int) -> None:
        self.cursor = min(max(row, self.choices.start), self.choices.stop - 1) if self.choices else -1

    def _refresh_changed(self, old: list[Content]) -> None:
        top = self.scroll_offset.y
        for row in range(top, top + self.size.height):
            before = old[row] if row < len(old) else None
            after = self._lines[row] if row < len(self._lines) else None
            if before is not after and (before is None or after is None or not before.is_same(after)):
                self.refresh_line(row)

    def _refresh_rows(self, rows: set[int]) -> None:
        for row in rows:
            if row >= 0:
                self.refresh_line(row)
