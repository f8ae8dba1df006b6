"""The panes with lists to choose from: diagnostics and history."""

from __future__ import annotations

import dataclasses
from typing import cast

import pytest

from sessions.model import Attempt
from tests.widgets import script
from tests.widgets.host import NARROW, SIZES, Host, visible
from widgets.diagnostics import DiagnosticsPane
from widgets.history import HistoryPane
from workbench.events import Diagnostic, Status


def attempt(number: int, status: Status = "ok", speedup: float | None = 1.0) -> Attempt:
    """An attempt as the store gives it back; its id is its number plus 100."""
    return Attempt(
        id=number + 100,
        sitting="now",
        number=number,
        problem="1_allreduce",
        backend="pytorch",
        path=script.PATH,
        digest="0" * 64,
        started=script.saved(number),
        status=status,
        reason="" if status == "ok" else "rank 1 is wrong",
        speedup=script.ratio(speedup) if speedup else None,
        candidate_ms=0.21,
        reference_ms=0.28,
        gbps=2.12,
        world=2,
        size="default",
        dtype="bfloat16",
        device="cpu",
        manner="",
        note="",
    )


@pytest.mark.parametrize("size", SIZES)
async def test_diagnostics_name_place_and_rank(size: tuple[int, int]) -> None:
    """A diagnostic reads severity, line and column, message, rank; enter jumps there."""
    pane = DiagnosticsPane()
    app = Host(pane)
    async with app.run_test(size=size) as pilot:
        pane.show_view(script.show(script.crash_run()))
        await pilot.pause()
        assert "error" in visible(pane)
        assert "12:5" in visible(pane)
        assert "ValueError" in visible(pane)
        assert "(rank 1)" in pane.lines.texts[0]
        await pilot.press("enter")

        assert app.said == [(12, 5)]


async def test_diagnostics_of_the_next_attempt_replace_the_old() -> None:
    """A new attempt starts with an empty list."""
    pane = DiagnosticsPane()
    async with Host(pane).run_test(size=NARROW) as pilot:
        view = script.show(script.build_error_run(1))
        pane.show_view(view)
        await pilot.pause()
        assert "7:13" in visible(pane)
        pane.show_view(script.show(script.loaded(2), view))
        await pilot.pause()

        assert visible(pane) == "no errors or warnings"


async def test_shorter_list_is_in_sight() -> None:
    """A list that gets shorter while its end is looked at shows what is left."""
    pane = DiagnosticsPane()
    async with Host(pane).run_test(size=NARROW) as pilot:
        one = script.build_error_run(1)[3]
        many = [dataclasses.replace(cast(Diagnostic, one), line=line) for line in range(1, 100)]
        pane.show_view(script.show([script.seen(1), *many]))
        await pilot.press("G")
        assert "99:13" in visible(pane)
        pane.show_view(script.show(script.build_error_run(2)))
        await pilot.pause()

        assert "7:13" in visible(pane)


async def test_message_of_several_lines_is_one_line() -> None:
    """A message with line breaks, brackets or escape sequences stays one line of plain text."""
    pane = DiagnosticsPane()
    async with Host(pane).run_test(size=(100, 10)) as pilot:
        odd = dataclasses.replace(cast(Diagnostic, script.build_error_run()[3]), message="[red]a\n  b\x1b[0m")
        pane.show_view(script.show([script.seen(1), odd]))
        await pilot.pause()

        assert "[red]a b" in visible(pane)


@pytest.mark.parametrize("size", SIZES)
async def test_history_is_newest_first_with_the_best_marked(size: tuple[int, int]) -> None:
    """Attempts stand newest first; the fastest good one has a star, a faster wrong one has not."""
    pane = HistoryPane(script.make_target())
    async with Host(pane).run_test(size=size) as pilot:
        pane.show_attempts([attempt(1, speedup=1.2), attempt(2, speedup=1.5), attempt(3, "wrong", 9.0)], "now")
        await pilot.pause()
        rows = visible(pane).splitlines()

        assert [row.split()[0] for row in rows] == ["#3", "#2", "#1"]
        assert ["*" in row for row in rows] == [False, True, False]
        assert "✗ wrong" in rows[0]
        assert "1.50x *" in rows[1]


async def test_attempts_of_earlier_sittings_have_their_id() -> None:
    """A number belongs to the present sitting; an attempt of an earlier one has its id instead."""
    pane = HistoryPane(script.make_target())
    async with Host(pane).run_test(size=(120, 24)) as pilot:
        earlier = dataclasses.replace(attempt(1, speedup=1.5), id=57, sitting="before")
        pane.show_attempts([earlier, attempt(1, speedup=1.2)], "now")
        await pilot.pause()
        rows = visible(pane).splitlines()

        assert rows[0].startswith("#1 ")
        assert rows[1].startswith("id 57 ")
        assert "1.50x *" in rows[1]


@pytest.mark.parametrize("width", [80, 90, 110, 158])
@pytest.mark.parametrize("manner", ["protocol pkb", "graph", "graph warm cache", "cold cache"])
async def test_manner_is_never_cut(width: int, manner: str) -> None:
    """How an attempt was timed stands whole in its line; time and bandwidth make room for it, the same in all lines."""
    pane = HistoryPane(script.make_target())
    async with Host(pane).run_test(size=(width, 24)) as pilot:
        other = dataclasses.replace(attempt(1, speedup=9.0), world=4, manner=manner)
        pane.show_attempts([other, attempt(2, speedup=1.2)], "now")
        await pilot.pause()
        rows = visible(pane).splitlines()

        assert rows[1].endswith(f"4 cpu ranks · {manner}")
        assert len({"GB/s" in row for row in rows}) == 1


async def test_other_conditions_are_named() -> None:
    """An attempt at another size or with other ranks says so, and is not the best one."""
    pane = HistoryPane(script.make_target())
    async with Host(pane).run_test(size=(120, 24)) as pilot:
        other = dataclasses.replace(attempt(1, speedup=9.0), size="smoke", world=4)
        pane.show_attempts([other, attempt(2, speedup=1.2)], "now")
        await pilot.pause()
        rows = visible(pane).splitlines()

        assert "smoke 4 cpu ranks" in rows[1]
        assert ["*" in row for row in rows] == [True, False]


async def test_another_way_of_timing_is_named() -> None:
    """An attempt timed by another protocol says so; the best is among those timed like the newest."""
    pane = HistoryPane(script.make_target())
    async with Host(pane).run_test(size=(120, 24)) as pilot:
        other = dataclasses.replace(attempt(1, speedup=9.0), manner="protocol pkb")
        pane.show_attempts([other, attempt(2, speedup=1.2)], "now")
        await pilot.pause()
        rows = visible(pane).splitlines()

        assert "protocol pkb" in rows[1]
        assert ["*" in row for row in rows] == [True, False]


async def test_history_enter_shows_the_attempt() -> None:
    """Enter on a row asks for that attempt by its id."""
    pane = HistoryPane(script.make_target())
    app = Host(pane)
    async with app.run_test(size=NARROW) as pilot:
        pane.show_attempts([attempt(number) for number in range(1, 4)], "now")
        await pilot.press("down", "enter", "end", "enter", "up", "enter")

        assert app.said == [102, 101, 102]


async def test_history_cursor_stays_on_its_attempt() -> None:
    """A new attempt above does not move the cursor off the one that is looked at."""
    pane = HistoryPane(script.make_target())
    app = Host(pane)
    async with app.run_test(size=NARROW) as pilot:
        pane.show_attempts([attempt(number) for number in range(1, 4)], "now")
        await pilot.press("j")
        pane.show_attempts([attempt(number) for number in range(1, 6)], "now")
        await pilot.press("enter")

        assert app.said == [102]


async def test_history_that_was_hidden_is_whole() -> None:
    """What came while the pane was hidden is laid out for its width, and the newest attempt is in sight."""
    pane, never_hidden = HistoryPane(script.make_target()), HistoryPane(script.make_target())
    few, more = ([attempt(number) for number in range(1, count)] for count in (3, 5))
    async with Host(never_hidden).run_test(size=NARROW) as pilot:
        never_hidden.show_attempts(more, "now")
        await pilot.pause()
        expected = visible(never_hidden)
    async with Host(pane).run_test(size=NARROW) as pilot:
        pane.show_attempts(few, "now")
        await pilot.pause()
        pane.display = False
        await pilot.pause()
        pane.show_attempts(more, "now")
        pane.display = True
        await pilot.pause()

        assert visible(pane) == expected
        assert visible(pane).startswith("#4")


async def test_empty_history() -> None:
    """Without attempts the pane says so, and enter does nothing."""
    pane = HistoryPane(script.make_target())
    app = Host(pane)
    async with app.run_test(size=NARROW) as pilot:
        pane.show_attempts([], "now")
        await pilot.press("enter", "j", "G")

        assert visible(pane) == "no attempts yet"
        assert app.said == []
