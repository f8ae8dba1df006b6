"""Numbers and text as people read them."""

from __future__ import annotations

import math
import typing

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from problems.model import Compare
from problems.wording import RULES
from tests.widgets.script import around, ratio
from widgets import format as fmt
from widgets.plain import LINE_CELLS, plain, plain_lines
from widgets.words import STAGES, STATUS
from workbench.events import PHASES, Ratio, Status


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0.0002, "0.200 us"),
        (0.213, "213 us"),
        (2.134, "2.13 ms"),
        (21.34, "21.3 ms"),
        (999.6, "1000 ms"),
        (2134, "2.13 s"),
    ],
)
def test_durations(ms: float, text: str) -> None:
    """A time has three digits and the unit that suits it."""
    assert fmt.duration(ms) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [(0.04, "<0.1 ms"), (0.44, "0.4 ms"), (2.0, "2 ms"), (20.4, "20 ms"), (2130, "2.1 s"), (130_000, "130 s")],
)
def test_brief_durations(ms: float, text: str) -> None:
    """In the stage line two digits are enough."""
    assert fmt.brief(ms) == text


def test_bytes_and_rates() -> None:
    """Bytes on links are decimal, memory is binary, rates are GB/s."""
    assert fmt.moved(2_097_152) == "2.10 MB"
    assert fmt.moved(512) == "512 B"
    assert fmt.memory(2_097_152) == "2.00 MiB"
    assert fmt.bandwidth(212.4) == "212 GB/s"
    assert fmt.bandwidth(0.00383) == "3.83 MB/s"
    assert fmt.operations(2.147e9) == "2.15 G"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), (0.0, "0"), (1.234e-3, "1.2e-3"), (25.0, "2.5e1"), (math.nan, "nan"), (math.inf, "inf")],
)
def test_errors(value: float | None, text: str) -> None:
    """An error has two digits and its power of ten."""
    assert fmt.error(value) == text


def test_speedups() -> None:
    """A speedup stands with its interval, a change with its sign."""
    assert fmt.interval(ratio(1.34)) == "1.34x [1.31, 1.37]"
    assert fmt.interval(Ratio(median=1.31, low=0.0001, high=13597.58)) == "1.31x [0.00, 13598]"
    assert fmt.interval(Ratio(median=2.46)) == "2.46x"
    assert fmt.change(1.031) == "+3.1%"
    assert fmt.change(0.95) == "-5.0%"
    assert fmt.percent(0.47) == "47%"
    assert fmt.percent(0.003) == "0.3%"


def test_spread_has_one_unit() -> None:
    """Median and percentiles are in the same unit."""
    assert fmt.spread(around(0.2)) == "200 us [190, 210]"


def test_counts_are_grouped() -> None:
    """Large counts are grouped in threes."""
    assert fmt.count(131584) == "131 584"


@given(st.floats(allow_nan=True, allow_infinity=True), st.integers(0, 60))
def test_bar_has_its_width(share: float, width: int) -> None:
    """A bar takes exactly its cells, whatever the share."""
    assert cell_len(fmt.bar(share, width)) == width


@given(st.floats())
def test_any_number_can_be_shown(value: float) -> None:
    """No number breaks the screen."""
    shown = (
        fmt.figure,
        fmt.duration,
        fmt.brief,
        fmt.moved,
        fmt.memory,
        fmt.error,
        fmt.percent,
        fmt.speedup,
        fmt.change,
    )

    assert all(show(value) for show in shown)


@given(st.text(max_size=200))
def test_plain_text_is_harmless(text: str) -> None:
    """Whatever a rank writes, what is shown is printable and on one line."""
    assert plain(text).isprintable()


def test_escape_sequences_are_dropped() -> None:
    """Colours, cursor moves and titles of a rank do not reach the terminal."""
    assert plain("\x1b[31mred\x1b[0m \x1b]0;title\x07and \x1b[2Jmore") == "red and more"


def test_direction_marks_are_shown() -> None:
    """Invisible marks that would reorder text are shown as a dot."""
    assert plain("a\u202eb") == "a·b"


def test_long_lines_are_cut() -> None:
    """A line is cut at its limit, also where a character takes two cells."""
    assert plain("x" * 10_000_000).endswith("…")
    assert cell_len(plain("x" * 3000)) <= LINE_CELLS
    assert cell_len(plain("世" * 3000)) <= LINE_CELLS


def test_progress_bars_show_their_last_state() -> None:
    """A carriage return starts the line anew."""
    assert plain_lines("1%\r2%\r3%\nend\r\n") == ["3%", "end", ""]


def test_every_status_and_stage_has_words() -> None:
    """Each status has a sign beside its colour; each stage and each way to compare has words."""
    assert set(STATUS) == set(typing.get_args(Status))
    assert all(look.sign for look in STATUS.values())
    assert set(STAGES) == set(PHASES)
    assert set(RULES) == set(typing.get_args(Compare))
