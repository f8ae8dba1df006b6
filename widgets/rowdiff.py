"""Sends only the cells that changed.

Textual repaints whole regions: one typed character costs a TextArea's full area, about 30 KB over ssh. Here every
update is compared, cell by cell, with what the terminal shows already, and only changed spans are written.
This leans on private parts of Textual (the pinned version): CompositorUpdate and App._display.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from rich.cells import get_character_cell_size
from rich.color import ColorSystem
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.app import App
from textual.geometry import Size
from textual.screen import Screen
from textual.strip import Strip

from widgets.plain import harmless

Cell = tuple[str, "Style | None"]
"""Text of one cell and its style; the second cell of a wide character has empty text."""
_GAP = 6
"""Unchanged cells shorter than a cursor movement are written again instead of jumped over."""


class ShownCells:
    """What the terminal shows, row by row; unknown after :meth:`forget`."""

    def __init__(self) -> None:
        self._rows: list[list[Cell | None]] = []
        self._size = Size(0, 0)

    def forget(self) -> None:
        """The terminal's content is unknown from now on: the next update is written in full."""
        self._size = Size(0, 0)

    def fit(self, size: Size) -> None:
        """Prepare for a screen of ``size``."""
        if size != self._size:
            self._size = size
            self._rows = [[None] * size.width for _ in range(size.height)]

    def write(self, y: int, x: int, strip: Strip, console: Console) -> str:
        """The terminal sequences that bring row ``y`` from column ``x`` on to show ``strip``."""
        if not 0 <= y < len(self._rows):
            return ""
        row = self._rows[y]
        cells = list(_cells(strip))[: len(row) - x]
        before = row[x : x + len(cells)]
        if before == cells:
            return ""
        row[x : x + len(cells)] = cells
        return "".join(_paint(cells[a:b], y, x + a, console) for a, b in _changed(before, cells))


def _cells(strip: Strip) -> Iterator[Cell]:
    for text, style, control in strip:
        if control:
            continue
        look = _plain(style)
        if not text.isprintable():
            text = harmless(text)  # whatever a pane shows, only this module steers the terminal
        if text.isascii():
            yield from [(character, look) for character in text]
            continue
        yield from _wide_cells(text, look)


def _wide_cells(text: str, style: Style | None) -> list[Cell]:
    cells: list[Cell] = []
    for character in text:
        width = get_character_cell_size(character)
        if width == 0 and cells:
            cells[-1] = (cells[-1][0] + character, style)
        elif width:
            cells.append((character, style))
            cells.extend([("", style)] * (width - 1))
    return cells


@lru_cache(8192)
def _plain(style: Style | None) -> Style | None:
    """The style without Textual's notes about mouse and selection, which no terminal sees."""
    return style.clear_meta_and_links() if style is not None and style._meta and not style._link else style


def _changed(before: list[Cell | None], after: list[Cell]) -> list[tuple[int, int]]:
    """Spans [start, end) that differ, near ones joined; the whole strip where wide characters are involved."""
    if any(cell is not None and len(cell[0]) != 1 for cell in (*before, *after)):
        return [(0, len(after))]
    spans: list[tuple[int, int]] = []
    for index, (old, new) in enumerate(zip(before, after, strict=False)):
        if old == new:
            continue
        if spans and index - spans[-1][1] <= _GAP:
            spans[-1] = (spans[-1][0], index + 1)
        else:
            spans.append((index, index + 1))
    return spans


def _paint(cells: list[Cell], y: int, x: int, console: Console) -> str:
    system = console._color_system or ColorSystem.TRUECOLOR
    parts = [f"\x1b[{y + 1};{x + 1}H"]
    for text, style in _runs(cells):
        parts.append(text if style is None else Strip.render_style(style, text, system))
    return "".join(parts)


def _runs(cells: list[Cell]) -> Iterator[Cell]:
    start = 0
    for index in range(1, len(cells) + 1):
        if index == len(cells) or cells[index][1] != cells[start][1]:
            yield "".join(text for text, _ in cells[start:index]), cells[start][1]
            start = index


class DiffUpdate(CompositorUpdate):
    """An update of the compositor, reduced to the cells that changed."""

    def __init__(self, update: LayoutUpdate | ChopsUpdate, shown: ShownCells, size: Size) -> None:
        self._update = update
        self._shown = shown
        self._size = size

    def render_segments(self, console: Console) -> str:
        """Terminal sequences for the changed cells."""
        self._shown.fit(self._size)
        return "".join(self._shown.write(y, x, strip, console) for y, x, strip in self._strips())

    def __rich_console__(self, console: Console, options: Any) -> Iterator[Segment]:
        yield Segment(self.render_segments(console))

    def _strips(self) -> Iterator[tuple[int, int, Strip]]:
        update = self._update
        if isinstance(update, LayoutUpdate):
            for y, strips in enumerate(update.strips, update.region.y):
                yield y, update.region.x, Strip.join(strips)
            return
        # Outside of the spans the chops hold the background only, whatever stands there.
        for y, first, last in update.spans:
            for (x, strip), end in zip(update.chops[y].items(), update.chop_ends[y], strict=False):
                left, right = max(x, first), min(end, last)
                if strip is not None and left < right:
                    yield y, left, strip.crop(left - x, right - x)


class RowDiff(App[int]):
    """Mixin for an app: its screen updates go through :class:`ShownCells`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._shown_cells = ShownCells()

    def forget_screen(self) -> None:
        """Something else wrote to the terminal: draw everything at the next update."""
        self._shown_cells.forget()

    def _display(self, screen: Screen[Any], renderable: RenderableType | None) -> None:
        if isinstance(renderable, (LayoutUpdate, ChopsUpdate)):
            renderable = DiffUpdate(renderable, self._shown_cells, screen.outer_size)
        super()._display(screen, renderable)
