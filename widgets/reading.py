"""The base of all panes that are read: one set of keys for moving, searching and copying."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Input, Label

from widgets.lines import Lines
from widgets.messages import CopyRequested
from widgets.search import Search, SearchBar

KEYS_HELP = """
- `j` `k` and the arrows: down, up; `h` `l`: left, right
- `g` `G`, home, end: first line, last line
- `ctrl+d` `ctrl+u`, page down, page up: half a page down, up
- `/`: search, then `n` `N`: next, previous place, `escape`: leave the search
- `y`: copy the selected text, the line at the cursor, or everything
"""


class ReadingPane(Vertical):
    """A pane of lines. Subclasses say the lines in ``build`` and call ``relayout`` when they have changed."""

    HELP = KEYS_HELP
    DEFAULT_CSS = "ReadingPane { width: 1fr; height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", show=False, id="reading.down"),
        Binding("k,up", "move(-1)", "Up", show=False, id="reading.up"),
        Binding("h,left", "aside(-8)", "Left", show=False, id="reading.left"),
        Binding("l,right", "aside(8)", "Right", show=False, id="reading.right"),
        Binding("g,home", "edge(0)", "First line", show=False, id="reading.first"),
        Binding("G,end", "edge(1)", "Last line", show=False, id="reading.last"),
        Binding("ctrl+d,pagedown", "half_page(1)", "Half a page down", show=False, id="reading.page_down"),
        Binding("ctrl+u,pageup", "half_page(-1)", "Half a page up", show=False, id="reading.page_up"),
        Binding("slash", "search", "Search", show=False, id="reading.search"),
        Binding("n", "next_match(1)", "Next", show=False, id="reading.next"),
        Binding("N", "next_match(-1)", "Previous", show=False, id="reading.previous"),
        Binding("escape", "leave_search", "Leave the search", show=False, id="reading.leave"),
        Binding("y", "copy", "Copy", show=False, id="reading.copy"),
        Binding("enter", "choose", "Choose", show=False, id="reading.choose"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.lines = Lines()
        self._search = Search()

    def compose(self) -> ComposeResult:
        """The lines; the search comes below them when it is asked for."""
        yield self.lines

    def build(self, width: int) -> list[Content]:
        """The lines at this width in cells."""
        raise NotImplementedError

    def choices(self) -> range:
        """Lines that the cursor can be on."""
        return range(0)

    def chosen(self, line: int) -> None:
        """Enter or a click on a line that can be chosen."""

    def copied(self) -> tuple[str, str]:
        """What ``y`` copies where nothing is selected, and how it is called."""
        if self.lines.cursor >= 0:
            return self.lines.texts[self.lines.cursor].strip(), "the line"
        return "\n".join(text.rstrip() for text in self.lines.texts), "the whole pane"

    def relayout(self, follow: bool = False) -> None:
        """Build the lines anew and show what changed."""
        if not self.lines.is_attached:
            return
        lines = self.build(max(8, self.lines.room - 1) if self.lines.room else 80)
        self.lines.set_lines(lines, self.choices(), follow)
        if self._search.query:
            self._search.find(self.lines.texts)
            self._mark()

    def focus(self, scroll_visible: bool = True) -> ReadingPane:
        """Keys go to the lines."""
        self.lines.focus(scroll_visible)
        return self

    @on(Lines.Resized)
    def _resized(self, event: Lines.Resized) -> None:
        event.stop()
        self.relayout()

    @on(Lines.Chosen)
    def _clicked(self, event: Lines.Chosen) -> None:
        event.stop()
        self.chosen(event.line)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that would do nothing here are left to the app."""
        if action == "leave_search":
            return self.searching
        return bool(self.lines.choices) if action == "choose" else True

    @property
    def searching(self) -> bool:
        """Whether the search is open."""
        return bool(self.query(SearchBar))

    def action_move(self, rows: int) -> None:
        """Down or up."""
        self.lines.move(rows)

    def action_aside(self, columns: int) -> None:
        """Right or left."""
        self.lines.scroll_to(x=self.lines.scroll_offset.x + columns, animate=False, force=True)

    def action_edge(self, last: int) -> None:
        """To the first or last line."""
        self.lines.move_to(max(0, len(self.lines.texts) - 1) if last else 0)

    def action_half_page(self, direction: int) -> None:
        """Half a page."""
        self.lines.move(direction * max(1, self.lines.size.height // 2))

    def action_choose(self) -> None:
        """Choose the line at the cursor."""
        if self.lines.cursor >= 0:
            self.chosen(self.lines.cursor)

    def action_copy(self) -> None:
        """Copy what is selected, or what the pane says."""
        selected = self.screen.get_selected_text()
        text, what = (selected, "the selected text") if selected else self.copied()
        if text:
            self.post_message(CopyRequested(text, what))

    async def action_search(self) -> None:
        """Ask what to search."""
        if not self.searching:
            await self.mount(SearchBar())
        self.query_one(SearchBar).query_one(Input).focus()

    async def action_leave_search(self) -> None:
        """Close the search and forget its marks."""
        self._search = Search()
        self.lines.mark([], None)
        self._give_back_focus()
        await self.query(SearchBar).remove()

    def action_next_match(self, step: int) -> None:
        """Go to the next or previous place."""
        self._search.step(step)
        self._show_match()

    @on(Input.Changed)
    def _query_changed(self, event: Input.Changed) -> None:
        event.stop()
        self._search = Search(event.value)
        self._search.find(self.lines.texts, self.lines.scroll_offset.y)
        self._show_match()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self._give_back_focus()

    def _give_back_focus(self) -> None:
        if any(box.has_focus for box in self.query(Input)):
            self.lines.focus()

    def _show_match(self) -> None:
        match = self._search.match
        if match is not None:
            if self.lines.choices:
                self.lines.move_to(match.line)
            self.lines.reveal(match.line, (match.start, match.end))
        self._mark()

    def _mark(self) -> None:
        self.lines.mark(self._search.matches, self._search.match)
        for label in self.query("#place").results(Label):
            label.update(self._search.place)
