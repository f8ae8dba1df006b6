"""All problems as a table: narrowed by what is typed, sorted by a column, as many columns as there is room for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from problems.matching import closest, matching, short_name
from problems.model import Entry
from sessions.model import Attempt, Standing
from widgets import format as fmt
from widgets.layout import cells
from widgets.messages import ProblemChosen
from widgets.plain import plain
from widgets.reading import ReadingPane
from widgets.words import status_text


@dataclass(frozen=True)
class Row:
    """A problem and what is known of it; ``present`` is the one on screen."""

    entry: Entry
    standing: Standing
    present: bool = False


@dataclass(frozen=True)
class Column:
    """One column: its words for a row, the least cells that it makes sense in, and what it is sorted by."""

    name: str
    least: int
    text: Callable[[Row], Content | str]
    key: Callable[[Row], Any]
    """None where the row has nothing here: it comes last."""
    falling: bool = False
    """Whether the highest comes first."""

    def content(self, row: Row) -> Content:
        """The cell of a row."""
        found = self.text(row)
        return Content(plain(found)) if isinstance(found, str) else found


def _result(row: Row) -> Content:
    best = row.standing.best
    if best is None:
        return Content()
    speed = f" {fmt.speedup(best.speedup.median)}" if best.speedup else ""
    return status_text(best.status) + speed


def _rank(best: Attempt | None) -> tuple[bool, float] | None:
    return None if best is None else (best.status == "ok", best.speedup.median if best.speedup else 0.0)


def _opened(row: Row) -> str:
    at = row.standing.opened
    return "open now" if row.present else fmt.moment(at) if at is not None else ""


COLUMNS: tuple[Column, ...] = (
    Column("no", 3, lambda row: f"{row.entry.number:>3}", lambda row: row.entry.number),
    Column("name", 36, lambda row: short_name(row.entry), lambda row: short_name(row.entry)),
    Column("group", 14, lambda row: row.entry.group, lambda row: row.entry.group),
    Column("parallelism", 11, lambda row: ", ".join(row.entry.parallelism), lambda row: row.entry.parallelism),
    Column("collectives", 22, lambda row: ", ".join(row.entry.collectives), lambda row: row.entry.collectives),
    Column("best", 11, _result, lambda row: _rank(row.standing.best), True),
    Column("opened", 8, _opened, lambda row: row.standing.opened, True),
)
"""In the order in which they stand."""
_NEED = ("no", "name", "best", "opened", "group", "parallelism", "collectives")
"""In the order in which they are left out last."""


class ProblemList(ReadingPane):
    """One line a problem; choosing one opens it."""

    class FilterWanted(Message):
        """The user wants to type what to look for."""

    def __init__(self) -> None:
        super().__init__()
        self.lines.keeps_cursor = True
        self._head = Static(id="picker-head", markup=False)
        self._rows: tuple[Row, ...] = ()
        self._shown: list[Row] = []
        self._query = ""
        self._sort, self._reversed = COLUMNS[0], False

    def compose(self) -> ComposeResult:
        """The columns' names above the lines."""
        yield self._head
        yield from super().compose()

    def on_resize(self) -> None:
        """The cursor stays in sight."""
        self.call_after_refresh(self._reveal)

    def _reveal(self) -> None:
        if self.lines.cursor >= 0:
            self.lines.reveal(self.lines.cursor)

    def show_rows(self, rows: Sequence[Row], stem: str) -> None:
        """Show these problems, with the cursor on one of them."""
        self._rows = tuple(rows)
        self._arrange(stem)

    def narrow(self, text: str) -> None:
        """Show only what a text means, with the cursor on what it fits best."""
        self._query = text
        best = closest([row.entry for row in self._rows], text) if text.strip() else None
        self._arrange(best.stem if best is not None else self.stem)

    def sort(self, name: str) -> None:
        """Sort by a column; by the same one again turns the order round."""
        column = next(column for column in COLUMNS if column.name == name)
        self._reversed = column is self._sort and not self._reversed
        self._sort = column
        self._arrange(self.stem)

    def sort_next(self) -> None:
        """Sort by the next column that is in sight."""
        names = [column.name for column, _ in self._columns()]
        at = names.index(self._sort.name) if self._sort.name in names else -1
        self.sort(names[(at + 1) % len(names)])

    def turn_round(self) -> None:
        """Sort the other way round."""
        self.sort(self._sort.name)

    @property
    def row(self) -> Row | None:
        """The problem at the cursor."""
        at = self.lines.cursor
        return self._shown[at] if 0 <= at < len(self._shown) else None

    @property
    def stem(self) -> str:
        """Full name of the problem at the cursor; empty without one."""
        return self.row.entry.stem if self.row is not None else ""

    @property
    def count(self) -> str:
        """How many are shown: ``87 problems``, ``3 of 87``."""
        few, all_ = len(self._shown), len(self._rows)
        return f"{few} of {all_}" if self._query.strip() else f"{all_} problems"

    def build(self, width: int) -> list[Content]:
        """One line each."""
        columns = self._columns()
        self._head.update(self._titles(columns))
        if not self._shown:
            words = "no problem fits: change the text, or press escape to see all" if self._rows else "reading ..."
            return [Content.styled(words, "dim")]
        return [cells([(column.content(row), size) for column, size in columns]) for row in self._shown]

    def choices(self) -> range:
        """Every problem."""
        return range(len(self._shown))

    def chosen(self, line: int) -> None:
        """Open it."""
        self.post_message(ProblemChosen(self._shown[line].entry.stem))

    async def action_search(self) -> None:
        """What a pane's search is elsewhere, the filter is here."""
        self.post_message(self.FilterWanted())

    def _arrange(self, stem: str) -> None:
        fitting = {entry.stem for entry in matching([row.entry for row in self._rows], self._query)}
        rows = [row for row in self._rows if row.entry.stem in fitting]
        filled = [row for row in rows if self._sort.key(row) is not None]
        empty = [row for row in rows if self._sort.key(row) is None]
        filled.sort(key=self._sort.key, reverse=self._sort.falling != self._reversed)
        self._shown = filled + empty
        self.relayout()
        if self._shown:
            at = next((at for at, row in enumerate(self._shown) if row.entry.stem == stem), 0)
            self.lines.move_to(at)

    def _columns(self) -> list[tuple[Column, int]]:
        """The columns that there is room for, with their cells."""
        room = max(0, self.lines.room - 1) or 80
        natural = {column.name: self._natural(column) for column in COLUMNS}
        least = {column.name: min(column.least, natural[column.name]) for column in COLUMNS}
        sizes: dict[str, int] = {}
        for name in _NEED:
            if sum(sizes.values()) + len(sizes) + least[name] <= room:
                sizes[name] = least[name]
        for name in sizes:
            spare = room - sum(sizes.values()) - len(sizes) + 1
            sizes[name] = min(natural[name], sizes[name] + spare)
        return [(column, sizes[column.name]) for column in COLUMNS if column.name in sizes]

    def _natural(self, column: Column) -> int:
        return max(len(column.name) + 1, *(column.content(row).cell_length for row in self._rows), 0)

    def _titles(self, columns: list[tuple[Column, int]]) -> Content:
        return cells([(self._title(column), size) for column, size in columns])

    def _title(self, column: Column) -> Content:
        sign = ("▼" if column.falling != self._reversed else "▲") if column is self._sort else ""
        link = f"@click=screen.sort('{column.name}')"
        return Content.from_markup(f"[{link}][bold]$name[/][/]", name=f"{column.name}{sign}")
