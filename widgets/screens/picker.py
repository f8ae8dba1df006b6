"""All problems: type to narrow the list, read what the one at the cursor asks for, open it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Label, Static

from problems.loader import load_entry
from problems.model import Entry
from sessions.model import Standing
from widgets.layout import wrapped
from widgets.lines import Lines
from widgets.messages import ProblemChosen
from widgets.plain import plain
from widgets.problem_list import ProblemList, Row
from widgets.screens.dialog import Dialog
from workbench.errors import PkwbError

_KEYS = "enter opens  tab list and filter  s S sort  / filter  escape back"
_REST_SECONDS = 0.08
"""The cursor rests that long before a statement is read, so that moving on costs nothing."""


class PickerScreen(Dialog[None]):
    """Says what was chosen by a ProblemChosen message; the app closes it when the problem is open."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Empty the filter, then back", id="picker.back"),
        Binding("q", "leave", "Back, from the list", id="picker.leave"),
        Binding("ctrl+c", "app.interrupt", "Twice: quit", id="picker.interrupt", priority=True),
        Binding("down", "move(1)", "Down, also from the filter", id="picker.down"),
        Binding("up", "move(-1)", "Up, also from the filter", id="picker.up"),
        Binding("pagedown", "page(1)", "Half a page down", id="picker.page_down"),
        Binding("pageup", "page(-1)", "Half a page up", id="picker.page_up"),
        Binding("s", "sort_next", "Sort by the next column, from the list", id="picker.sort"),
        Binding("S", "turn_round", "Turn the order round, from the list", id="picker.turn"),
    ]

    def __init__(self, present: str = "") -> None:
        super().__init__()
        self._present = present
        self._list = ProblemList()
        self._busy = False
        self._statements: dict[str, str] = {}

    def compose(self) -> ComposeResult:
        """Filter, list, statement."""
        with Vertical(id="picker") as box:
            box.border_title = "Problems"
            box.border_subtitle = _KEYS
            with Horizontal(id="picker-filter"):
                yield Label("> ", markup=False)
                yield _filter()
                yield Label("", id="picker-count", markup=False)
            yield self._list
            yield Static(id="picker-preview", markup=False)

    def on_mount(self) -> None:
        """Keys go to the filter."""
        self.query_one(Input).focus()

    def on_resize(self) -> None:
        """The statement is wrapped to the new width."""
        self.call_after_refresh(self._changed)

    def fill(self, entries: Sequence[Entry], known: Mapping[str, Standing]) -> None:
        """List these, with the cursor on the problem on screen, else on the one opened last."""
        nothing = Standing()
        rows = [Row(one, known.get(one.stem, nothing), one.stem == self._present) for one in entries]
        latest = max(rows, key=lambda row: row.standing.opened or 0.0, default=None)
        self._list.show_rows(rows, self._present or (latest.entry.stem if latest else ""))
        self._list.narrow(self.query_one(Input).value)
        self._changed()

    def say(self, words: str) -> None:
        """What happens now, beside the filter; empty when the list can be used again."""
        self._busy = bool(words)
        self.query_one("#picker-count", Label).update(words or self._list.count)

    def action_back(self) -> None:
        """Empty the filter; where it is empty, close."""
        box = self.query_one(Input)
        if box.value:
            box.value = ""
            box.focus()
        else:
            self.action_leave()

    def action_leave(self) -> None:
        """Close."""
        if not self._busy:
            self.dismiss()

    def action_move(self, rows: int) -> None:
        """Move the cursor."""
        self._list.action_move(rows)

    def action_page(self, direction: int) -> None:
        """Move the cursor by half a page."""
        self._list.action_half_page(direction)

    def action_sort(self, name: str) -> None:
        """Sort by a column; the same one again turns the order round."""
        self._list.sort(name)

    def action_sort_next(self) -> None:
        """Sort by the next column."""
        self._list.sort_next()

    def action_turn_round(self) -> None:
        """Sort the other way round."""
        self._list.turn_round()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._list.narrow(event.value)
        self._changed()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        # A message of the list's own would end here, since it is made while the screen handles one.
        if self._list.stem:
            self.post_message(ProblemChosen(self._list.stem))

    @on(ProblemList.FilterWanted)
    def _to_filter(self) -> None:
        self.query_one(Input).focus()

    @on(Lines.Moved)
    def _moved(self, event: Lines.Moved) -> None:
        event.stop()
        self._changed()

    def _changed(self) -> None:
        if not self._busy:
            self.say("")
        self._preview()

    @work(exclusive=True, group="preview", exit_on_error=False)
    async def _preview(self) -> None:
        row = self._list.row
        if row is not None and row.entry.stem not in self._statements:
            await asyncio.sleep(_REST_SECONDS)
            self._statements[row.entry.stem] = await asyncio.to_thread(_statement, row.entry)
        preview = self.query_one("#picker-preview", Static)
        width, height = preview.content_size
        lines = _about(row.entry, self._statements[row.entry.stem], width) if row else []
        preview.update(Content("\n").join(lines if len(lines) <= height else [*lines[: height - 1], Content("…")]))


def _filter() -> Input:
    box = Input(placeholder="type to filter: 42, moe, all_to_all", compact=True)
    box.cursor_blink = False
    return box


def _statement(entry: Entry) -> str:
    try:
        return load_entry(entry).statement
    except PkwbError as error:
        return str(error)


def _about(entry: Entry, statement: str, width: int) -> list[Content]:
    kinds = " · ".join(filter(None, (entry.group, ", ".join(entry.parallelism), ", ".join(entry.collectives))))
    return [
        *wrapped(Content.styled(plain(f"{entry.number}  {entry.title}"), "bold"), width),
        *wrapped(Content.styled(plain(kinds), "dim"), width),
        *(part for line in statement.splitlines() for part in wrapped(plain(line), width)),
    ]
