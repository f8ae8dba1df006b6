"""The verdict pane: headline, matrix of ranks, reasons."""

from __future__ import annotations

import dataclasses

import pytest

from tests.widgets import script
from tests.widgets.host import NARROW, SIZES, WIDE, Host, flowing, visible, watch_paint
from widgets.verdicts import VerdictPane
from workbench.events import RankSummary


def pane(world: int = 2) -> VerdictPane:
    """A pane of the hand-made problem."""
    return VerdictPane(script.make_target(world=world))


@pytest.mark.parametrize("size", SIZES)
async def test_good_run(size: tuple[int, int]) -> None:
    """After a good run the headline counts the trials and every rank is ok with its error and time."""
    shown = pane()
    async with Host(shown).run_test(size=size) as pilot:
        shown.show_view(script.show(script.good_run()))
        await pilot.pause()
        headline, _, *rows = visible(shown).splitlines()

        assert headline == "✓ ok, 5 of 5 trials"
        assert [row.split()[:4] for row in rows] == [["0", "✓", "ok", "1.2e-3"], ["1", "✓", "ok", "1.2e-3"]]
        assert all("0.210" in row for row in rows)


@pytest.mark.parametrize("size", SIZES)
async def test_wrong_on_one_rank(size: tuple[int, int]) -> None:
    """A wrong rank is named in the headline with its first bad place, what was expected and what came."""
    shown = pane()
    async with Host(shown).run_test(size=size) as pilot:
        shown.show_view(script.show(script.wrong_run()))
        await pilot.pause()

        assert "✗ wrong on rank 1: out[3, 17] expected 0.5 got 0" in flowing(shown)
        assert "1 ✗ wrong" in flowing(shown)


async def test_wide_pane_shows_relative_errors() -> None:
    """With room, the relative error and its share of the tolerance stand beside the absolute one."""
    shown = pane()
    async with Host(shown).run_test(size=WIDE) as pilot:
        shown.show_view(script.show(script.wrong_run()))
        await pilot.pause()

        assert "rel err" in visible(shown)
        assert "2500%" in visible(shown)


async def test_last_good_rows_stay_while_the_next_runs() -> None:
    """While the next attempt runs the last good rows stay, and the pane says whose they are."""
    shown = pane()
    async with Host(shown).run_test(size=NARROW) as pilot:
        shown.show_view(script.show([*script.good_run(1), *script.loaded(2)]))
        await pilot.pause()

        assert "#2 running" in visible(shown)
        assert "0 ✓ ok 1.2e-3" in flowing(shown)
        assert "dimmed: last good, #1" in visible(shown)


async def test_live_rows_count_their_trials() -> None:
    """While trials run, each rank shows how many it has passed."""
    shown = pane()
    async with Host(shown).run_test(size=NARROW) as pilot:
        shown.show_view(script.show([*script.loaded(), script.judged(1, 0, 0), script.judged(1, 0, 1)]))
        await pilot.pause()

        assert "0 ✓ ok 2/5" in flowing(shown)
        assert "1 · waiting" in flowing(shown)


async def test_hang_says_where_each_rank_stands() -> None:
    """After a hang the place of each rank is read in the pane."""
    shown = pane()
    async with Host(shown).run_test(size=NARROW) as pilot:
        shown.show_view(script.show(script.hang_run()))
        await pilot.pause()

        assert "∞ hang on all ranks" in flowing(shown)
        assert "rank 0: stands at barrier, 1_allreduce_pytorch.py:77" in flowing(shown)


@pytest.mark.parametrize("keys", [["enter"], ["j", "k", "enter"], ["g", "enter"]])
async def test_enter_chooses_the_rank(keys: list[str]) -> None:
    """Enter on a row asks for that rank's output."""
    shown = pane()
    app = Host(shown)
    async with app.run_test(size=NARROW) as pilot:
        shown.show_view(script.show(script.wrong_run()))
        await pilot.press(*keys)

        assert app.said == [0]


async def test_click_chooses_the_rank() -> None:
    """A click on a row asks for that rank's output."""
    shown = pane()
    app = Host(shown)
    async with app.run_test(size=WIDE) as pilot:
        shown.show_view(script.show(script.good_run()))
        await pilot.pause()
        await pilot.click(shown.lines, offset=(3, 3))

        assert app.said == [1]


async def test_eight_ranks() -> None:
    """Eight ranks each have their row, and the last can be reached in a small pane."""
    shown = pane(world=8)
    app = Host(shown)
    async with app.run_test(size=(40, 6)) as pilot:
        shown.show_view(script.show(script.good_run(world=8)))
        await pilot.press("G", "enter")

        assert app.said == [7]
        assert "7    ✓ ok" in visible(shown)


async def test_text_of_ranks_is_shown_as_it_is() -> None:
    """Brackets and escape sequences in a rank's text are neither markup nor sent to the terminal."""
    shown = pane()
    async with Host(shown).run_test(size=WIDE) as pilot:
        events = [*script.loaded(), script.verdict(1, "crash", "[bold]no[/bold] \x1b[31mred")]
        shown.show_view(script.show(events))
        await pilot.pause()

        assert "[bold]no[/bold] red" in visible(shown)


async def test_unchanged_view_paints_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A view with the same attempt repaints no line."""
    shown = pane()
    async with Host(shown).run_test(size=NARROW) as pilot:
        view = script.show(script.good_run())
        shown.show_view(view)
        await pilot.pause()
        painted = watch_paint(shown, monkeypatch)
        shown.show_view(script.show([script.telemetry()], view))

        assert painted == []


async def test_only_changed_rows_are_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    """When one rank has been judged, only its row and the remark below change."""
    shown = pane(world=4)
    async with Host(shown).run_test(size=NARROW) as pilot:
        view = script.show([*script.loaded(), *[script.judged(1, rank, 0) for rank in range(4)]])
        shown.show_view(view)
        await pilot.pause()
        painted = watch_paint(shown, monkeypatch)
        shown.show_view(script.show([script.judged(1, 2, 1)], view))

        assert painted == [4]


async def test_reason_that_is_a_ranks_own_is_said_once() -> None:
    """Where the reason says of all ranks what each of them reported, it is read once."""
    said = "SyntaxError: invalid syntax, line 1"
    ranks = tuple(RankSummary(rank=rank, status="build-error", detail=said) for rank in range(2))
    word = dataclasses.replace(script.verdict(1, "build-error"), reason=f"all ranks: {said}", ranks=ranks)
    shown = pane()
    async with Host(shown).run_test(size=NARROW) as pilot:
        shown.show_view(script.show([*script.loaded(), word]))
        await pilot.pause()

        assert flowing(shown).count(said) == 1
        assert f"all ranks: {said}" in flowing(shown)


async def test_dimmed_rows_are_named_where_others_are_not() -> None:
    """Where one rank has been judged and another has not, it is said in words which row is the last good attempt's."""
    shown = pane()
    async with Host(shown).run_test(size=WIDE) as pilot:
        shown.show_view(script.show([*script.good_run(1), *script.loaded(2), script.judged(2, 1, 0, "wrong")]))
        await pilot.pause()

        assert "rank 0 dimmed: last good, #1" in flowing(shown)


async def test_no_rank_waits_after_the_end() -> None:
    """A rank that was never judged has no status once the attempt is over; nobody waits for it any more."""
    shown = pane()
    async with Host(shown).run_test(size=NARROW) as pilot:
        shown.show_view(script.show([*script.loaded(), script.judged(1, 0, 0), script.verdict(1, "cancelled")]))
        await pilot.pause()

        assert "waiting" not in visible(shown)
        assert "0 ✓ ok" in flowing(shown)
