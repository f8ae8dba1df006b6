"""The list of problems inside the app: finding one, reading what it asks for, opening it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from textual import events
from textual.widgets import Input, Static

from sessions.store import Store
from tests.sessions.samples import source, target, verdict
from tests.widgets.host import visible
from tests.widgets.stage import Stage, dialog, stage
from widgets.problem_list import ProblemList
from widgets.screens.picker import PickerScreen
from workbench.config import RanksSettings
from workbench.resolve import Opener

SIZES = [(160, 48), (80, 24)]
ZERO = "42_zero2_optimizer_shard_grad"


def listed(place: Stage) -> ProblemList:
    """The list."""
    return place.app.screen.query_one(ProblemList)


async def open_list(place: Stage) -> None:
    """Show the list by its key and wait until it is filled."""
    await place.pilot.press("ctrl+t")
    await filled(place)


async def filled(place: Stage) -> None:
    """Wait until the list is on screen with its problems."""
    await place.until(lambda: isinstance(place.app.screen, PickerScreen) and listed(place).stem)


async def pick(place: Stage, text: str) -> None:
    """Type a text into the list's filter and open what it means."""
    await open_list(place)
    await place.pilot.press(*text, "enter")


async def opened(place: Stage, stem: str) -> None:
    """Wait until a problem is on screen alone."""
    await place.until(lambda: place.app.target.problem.stem == stem and len(place.app.screen_stack) == 1)


@pytest.mark.parametrize("size", SIZES)
async def test_list_shows_what_is_known(tmp_path: Path, size: tuple[int, int]) -> None:
    """Every problem has a line with number, name, best result and last opening, at both common sizes."""
    store = Store.open()
    store.record(target("13"), source(), verdict(1, speedup=1.75), 1.0)
    store.record(target("18"), source(), verdict(2, "wrong", speedup=None), 2.0)
    store.opened(target("42"))
    store.close()
    async with stage(tmp_path, size=size) as place:
        await open_list(place)
        rows = [" ".join(line.split()) for line in listed(place).lines.texts]

        assert any(row.startswith("13 gemm_allreduce tensor-p") and "✓ ok 1.75x" in row for row in rows)
        assert any(row.startswith("18 tp_rms_norm") and "✗ wrong" in row for row in rows)
        assert any(row.startswith("1 allreduce") and row.endswith("open now") for row in rows)
        assert any(row.startswith("42 zero2") and row[-3] == ":" for row in rows)


async def test_wide_list_has_parallelism_and_collectives(tmp_path: Path) -> None:
    """With room for them, parallelism and collectives have columns too."""
    async with stage(tmp_path) as place:
        await open_list(place)
        row = next(line for line in listed(place).lines.texts if "zero2" in line)

        assert "DP, ZeRO" in row
        assert "reduce_scatter_tensor" in row


async def test_typing_narrows_the_list(tmp_path: Path) -> None:
    """What is typed narrows the list at once, the cursor goes to what fits best; escape empties it, then goes back."""
    async with stage(tmp_path) as place:
        await open_list(place)
        everything = len(listed(place).lines.texts)
        await place.pilot.press(*"all_to_all")
        stems = [text.split()[1] for text in listed(place).lines.texts]
        assert {"alltoall", "gnn_neighbor_sampling"} <= set(stems)
        assert len(stems) < everything

        await place.pilot.press("escape")
        await place.pilot.press("4", "2")
        assert listed(place).stem == ZERO

        await place.pilot.press("escape", "escape")
        await place.until(lambda: len(place.app.screen_stack) == 1)
        assert not place.runner.closed


async def test_nothing_fits(tmp_path: Path) -> None:
    """A text that means no problem is answered in the list, and enter does nothing."""
    async with stage(tmp_path) as place:
        await pick(place, "zzzz")
        await place.pilot.pause()

        assert "no problem fits" in visible(listed(place))


async def test_moving_and_reading(tmp_path: Path) -> None:
    """Arrows move from within the filter, j and k from the list, and the statement of the problem is shown."""
    async with stage(tmp_path, size=(80, 24)) as place:
        await open_list(place)
        await place.pilot.press("down", "down")
        assert listed(place).stem == "3_broadcast"
        await place.pilot.press("tab")
        await place.pilot.press("j", "k", "k")
        assert listed(place).stem == "2_allgather"

        preview = place.app.screen.query_one("#picker-preview", Static)
        await place.until(lambda: "Every rank must return" in str(preview.visual))
        await place.pilot.press("slash")
        assert place.app.screen.query_one(Input).has_focus


async def test_sorting(tmp_path: Path) -> None:
    """The list is sorted by any column; problems that have nothing there come last, whichever way round."""
    store = Store.open()
    for number, (name, speedup) in enumerate((("13", 1.2), ("18", 1.9)), 1):
        store.record(target(name), source(), verdict(number, speedup=speedup), 1.0)
    store.close()
    async with stage(tmp_path) as place:
        await open_list(place)
        screen = place.app.screen
        assert isinstance(screen, PickerScreen)
        screen.action_sort("best")
        assert [text.split()[0] for text in listed(place).lines.texts[:3]] == ["18", "13", "1"]
        await place.pilot.press("tab")
        await place.pilot.press("S")
        assert [text.split()[0] for text in listed(place).lines.texts[:3]] == ["13", "18", "1"]
        await place.pilot.press("s", "s")
        assert "no▲" in str(listed(place).query_one("#picker-head", Static).visual)


async def test_open_another_problem(tmp_path: Path) -> None:
    """Enter opens the problem in the running app: its file is made and judged, the old problem's ranks are ended."""
    async with stage(tmp_path) as place:
        await pick(place, "42")
        await opened(place, ZERO)
        await place.until(lambda: len(place.runners) == 2 and place.runners[1].given)

        assert place.runners[0].closed
        assert not place.runners[1].closed
        assert place.runners[1].given[0][0].path == tmp_path / "solutions_pytorch" / f"{ZERO}_pytorch.py"
        await place.pilot.press(*"# here")
        assert place.text.startswith("# here")
        await place.pilot.press("ctrl+s")
        await place.until(lambda: len(place.runners[1].given) == 2)
    assert place.runners[1].closed


async def test_history_is_that_of_the_problem_on_screen(tmp_path: Path) -> None:
    """Attempts at the problem on screen are shown, none of the one before."""
    store = Store.open()
    store.record(target("42"), source(), verdict(1, speedup=1.75), 1.0)
    store.close()
    async with stage(tmp_path) as place:
        place.runner.end()
        await pick(place, "42")
        await opened(place, ZERO)
        history = place.app.panes["history"]
        await place.until(lambda: "1.75x" in "\n".join(history.lines.texts))  # type: ignore[attr-defined]

        assert len(history.lines.texts) == 1  # type: ignore[attr-defined]


async def test_same_problem_again(tmp_path: Path) -> None:
    """Choosing the problem that is open goes back to it, with its text and its ranks."""
    async with stage(tmp_path) as place:
        place.write("# mine\n")
        await pick(place, "allreduce")
        await opened(place, "1_allreduce")

        assert place.text.startswith("# mine")
        assert len(place.runners) == 1


async def test_there_and_back_many_times(tmp_path: Path) -> None:
    """However often problems change, each one's ranks are ended before the next one's start."""
    async with stage(tmp_path) as place:
        for text, stem in (("13", "13_gemm_allreduce"), ("18", "18_tp_rms_norm"), ("13", "13_gemm_allreduce")):
            await pick(place, text)
            await opened(place, stem)
        await place.until(lambda: len(place.runners) == 4 and place.runners[-1].given)

        assert [runner.closed for runner in place.runners] == [True, True, True, False]


@pytest.mark.parametrize(("key", "saved"), [("s", True), ("d", False)])
async def test_unsaved_text_is_asked_about(tmp_path: Path, key: str, saved: bool) -> None:
    """Text that is not saved is saved or discarded as the user says, before another problem is opened."""
    async with stage(tmp_path) as place:
        place.write("# mine\n")
        await pick(place, "42")
        await place.until(lambda: len(place.app.screen_stack) == 3)
        await place.pilot.press(key)
        await opened(place, ZERO)

        assert place.path.read_text().startswith("# mine") is saved


async def test_unsaved_text_is_kept_and_offered_again(tmp_path: Path) -> None:
    """Text that is kept for later is offered when its problem is opened again, in the same sitting too."""
    async with stage(tmp_path) as place:
        await pick(place, "42")
        await opened(place, ZERO)
        place.write("# mine\n")
        await pick(place, "13")
        await place.until(lambda: len(place.app.screen_stack) == 3)
        await place.pilot.press("k")
        await opened(place, "13_gemm_allreduce")
        await pick(place, "42")
        await place.until(lambda: place.app.target.problem.stem == ZERO and len(place.app.screen_stack) == 2)
        await place.pilot.press("r")
        await place.until(lambda: place.text.startswith("# mine"))


async def test_staying_changes_nothing(tmp_path: Path) -> None:
    """Escape on the question about unsaved text leaves text, ranks and list as they are."""
    async with stage(tmp_path) as place:
        place.write("# mine\n")
        await pick(place, "42")
        await place.until(lambda: len(place.app.screen_stack) == 3)
        await place.pilot.press("escape")
        await dialog(place)

        assert place.text.startswith("# mine")
        assert not place.runner.closed
        assert listed(place).stem == ZERO


async def test_keys_typed_ahead(tmp_path: Path) -> None:
    """A key that arrives when its question has been answered already closes nothing else."""
    async with stage(tmp_path) as place:
        place.write("# mine\n")
        await pick(place, "42")
        await place.until(lambda: len(place.app.screen_stack) == 3)
        question = place.app.screen
        for _ in range(2):
            question.post_message(events.Key("n", "n"))
        await dialog(place)
        await place.pilot.pause()

        assert isinstance(place.app.screen, PickerScreen)


async def test_problem_that_cannot_be_opened(tmp_path: Path) -> None:
    """A problem that these ranks cannot run is refused with the possible ones, and the list stays."""
    async with stage(tmp_path) as place:
        three = dataclasses.replace(RanksSettings(), world=3)
        place.app.opener = Opener(dataclasses.replace(place.app.settings, ranks=three), tmp_path)
        await pick(place, "73")
        await place.until(lambda: "cannot run on 3 ranks" in place.messages())

        assert "possible up to 8: 1, 2, 4, 8" in place.messages()
        assert isinstance(place.app.screen, PickerScreen)
        assert not place.runner.closed


async def test_beginning_with_the_list(tmp_path: Path) -> None:
    """Without a problem the app begins with the list, the one opened last at the cursor; nothing runs before."""
    store = Store.open()
    for name in ("42", "13"):
        store.opened(target(name))
    store.close()
    async with stage(tmp_path, choose=True) as place:
        await filled(place)
        assert listed(place).stem == "13_gemm_allreduce"
        assert not place.runners
        await place.pilot.press("enter")
        await opened(place, "13_gemm_allreduce")
        await place.until(lambda: place.runners and place.runners[0].given)


@pytest.mark.parametrize("keys", [["escape"], ["ctrl+c", "ctrl+c"], ["ctrl+q"], ["tab", "q"]])
async def test_leaving_the_list_at_the_beginning(tmp_path: Path, keys: list[str]) -> None:
    """Every usual key leaves the list that the app began with, and with it the app."""
    async with stage(tmp_path, choose=True) as place:
        await filled(place)
        await place.pilot.press(*keys)
        await place.until(lambda: place.app.return_code == 0 and not place.app.is_running)

    assert not place.runners
    assert not (tmp_path / "solutions_pytorch" / "13_gemm_allreduce_pytorch.py").exists()
