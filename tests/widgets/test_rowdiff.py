"""Sending only what changed: a terminal that gets the differences shows what one shows that gets everything."""

from __future__ import annotations

from collections.abc import Sequence

import pyte
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import LayoutUpdate
from textual.geometry import Region, Size
from textual.strip import Strip

from widgets.rowdiff import DiffUpdate, ShownCells

WIDTH, HEIGHT = 12, 3
CONSOLE = Console(color_system="truecolor", force_terminal=True)
STYLES = [
    None,
    Style(color="red"),
    Style(bold=True),
    Style(color="red", meta={"offset": (1, 2)}),
    Style(bgcolor="#102030"),
]
CHARACTERS = st.sampled_from([*"ab 漢é✗│"])
ROWS = st.lists(st.tuples(CHARACTERS, st.sampled_from(STYLES)), min_size=WIDTH, max_size=WIDTH)
SCREENS = st.lists(ROWS, min_size=HEIGHT, max_size=HEIGHT)


Row = list[tuple[str, "Style | None"]]


def strips(rows: Sequence[Row]) -> list[Strip]:
    """Rows as the compositor makes them, cut to the screen's width."""
    return [Strip([Segment(text, style) for text, style in row]).adjust_cell_length(WIDTH) for row in rows]


def plain_rows() -> list[Row]:
    """A screen of the letter a."""
    return [[("a", None)] * WIDTH for _ in range(HEIGHT)]


def update(rows: list[Strip], shown: ShownCells) -> str:
    """The terminal sequences for a full update."""
    layout = LayoutUpdate([[strip] for strip in rows], Region(0, 0, WIDTH, HEIGHT))
    return DiffUpdate(layout, shown, Size(WIDTH, HEIGHT)).render_segments(CONSOLE)


def cells(screen: pyte.Screen) -> list[list[tuple[str, str, str, bool]]]:
    """Everything that a terminal shows."""
    return [
        [(cell.data, cell.fg, cell.bg, cell.bold) for cell in (screen.buffer[y][x] for x in range(WIDTH))]
        for y in range(HEIGHT)
    ]


@given(st.lists(SCREENS, min_size=1, max_size=5))
def test_same_as_drawing_everything(screens: list[list[Row]]) -> None:
    """After any sequence of screens, wide characters included, the terminal shows the last one exactly."""
    shown, terminal = ShownCells(), pyte.Screen(WIDTH, HEIGHT)
    stream = pyte.Stream(terminal)
    for rows in screens:
        stream.feed(update(strips(rows), shown))
    fresh = pyte.Screen(WIDTH, HEIGHT)
    pyte.Stream(fresh).feed(update(strips(screens[-1]), ShownCells()))

    assert cells(terminal) == cells(fresh)


def test_nothing_changed_costs_nothing() -> None:
    """The same screen again writes no byte, although the compositor repaints it."""
    rows = strips(plain_rows())
    shown = ShownCells()
    update(rows, shown)

    assert update(rows, shown) == ""


def test_one_cell_costs_one_cell() -> None:
    """One changed character writes a cursor movement and that character."""
    rows = plain_rows()
    shown = ShownCells()
    update(strips(rows), shown)
    rows[1][4] = ("b", None)

    assert update(strips(rows), shown) == "\x1b[2;5Hb"


def test_forgotten_screen_is_drawn_in_full() -> None:
    """After another program used the terminal, every cell is written again."""
    rows = strips(plain_rows())
    shown = ShownCells()
    first = update(rows, shown)
    shown.forget()

    assert update(rows, shown) == first


def test_text_steers_no_terminal() -> None:
    """Whatever a pane shows: no escape sequence, no bell, nothing that turns text around reaches the terminal."""
    row = [(text, None) for text in ("a\x1b]5;c\x07", "b\x9b2J", "\u202ec", "d\x00\x7f\x08e")]
    written = update([Strip([Segment(text, style) for text, style in row])], ShownCells())

    assert written == "\x1b[1;1Ha]5;cb2Jcde"
