"""The app's screen: what is in sight at which size, in which layout, and which panes are hidden."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.widgets.script import crash_run, good_run, gpu_run, hang_run, wrong_run
from tests.widgets.stage import dialog, play, shown, stage, words
from widgets.frame import PLACES, TabbedRegion
from widgets.lines import Lines

EVERY_SIZE = [(160, 48), (80, 24), (60, 15)]


async def test_full_layout(tmp_path: Path) -> None:
    """A wide screen shows the problem, the editor, the verdict, the speed and the history side by side."""
    async with stage(tmp_path) as place:
        assert all(shown(place, f"#{name}") for name in ("problem", "editor", "verdict", "speed", "history"))


@pytest.mark.parametrize(("size", "world"), [((160, 48), 8), ((160, 48), 2), ((120, 36), 2), ((80, 24), 2)])
async def test_ranks_and_speed_are_in_sight(tmp_path: Path, size: tuple[int, int], world: int) -> None:
    """Every rank's row and the whole of the speed pane are in sight without scrolling."""
    async with stage(tmp_path, size=size, world=world) as place:
        await play(place, good_run(1))
        await place.app.run_action("focus_pane('verdict')")
        await place.pilot.pause()
        verdict, speed = (place.app.query_one(f"#{name} Lines", Lines) for name in ("verdict", "speed"))

        assert verdict.size.height >= world + 2
        assert speed.size.height >= len(speed.texts)
        assert speed.region.bottom <= size[1] - 2


async def test_all_that_is_known_of_gpus_is_in_sight(tmp_path: Path) -> None:
    """On a large screen the speed pane with floor, flags and both rates is seen whole, and at 80x24 its flags are."""
    async with stage(tmp_path, size=(160, 48)) as place:
        await play(place, gpu_run(1))
        await place.pilot.pause()
        speed = place.app.query_one("#speed Lines", Lines)
        assert speed.size.height >= len(speed.texts) > 20
        await place.pilot.resize_terminal(80, 24)
        await place.app.run_action("focus_pane('speed')")
        await place.pilot.pause()
        seen = "\n".join(speed.texts[: speed.size.height])
        assert all(flag in seen for flag in ("! noisy", "! launch-bound", "! shared-gpu"))


@pytest.mark.parametrize("run", [hang_run, wrong_run, crash_run])
@pytest.mark.parametrize("size", [(160, 48), (120, 36), (80, 24)])
async def test_what_went_wrong_is_in_sight(tmp_path: Path, size: tuple[int, int], run: Any) -> None:
    """After an attempt that failed all that is said of it is in sight, with some of the last good speed."""
    async with stage(tmp_path, size=size) as place:
        await play(place, [*good_run(1), *run(2)])
        await place.app.run_action("focus_pane('verdict')")
        await place.pilot.pause()
        verdict, speed = (place.app.query_one(f"#{name} Lines", Lines) for name in ("verdict", "speed"))

        assert verdict.size.height >= len(verdict.texts)
        assert speed.size.height >= 3


async def test_results_layout(tmp_path: Path) -> None:
    """The results-only layout has no editor, and going to the editor brings it back."""
    async with stage(tmp_path, layout="results") as place:
        assert not shown(place, "#editor")
        assert shown(place, "#verdict")

        await place.pilot.press("4")
        await place.pilot.pause()

        assert shown(place, "#editor")


async def test_layout_key(tmp_path: Path) -> None:
    """F6 changes between the full layout and results only."""
    async with stage(tmp_path) as place:
        await place.pilot.press("f6")
        await place.pilot.pause()
        assert not shown(place, "#editor")

        await place.pilot.press("f6")
        await place.pilot.pause()
        assert shown(place, "#editor")


async def test_narrow_screen_begins_with_results(tmp_path: Path) -> None:
    """At 80x24 the panes are tabs, the results first."""
    async with stage(tmp_path, size=(80, 24)) as place:
        await play(place, wrong_run(1))

        assert shown(place, "#verdict")
        assert shown(place, "#strip")
        assert not shown(place, "#editor")
        assert "wrong on rank 1" in words(place, "verdict")


@pytest.mark.parametrize("size", EVERY_SIZE)
async def test_every_pane_at_every_size(tmp_path: Path, size: tuple[int, int]) -> None:
    """From 60x15 on each pane can be reached by its number and has room to be read."""
    async with stage(tmp_path, size=size) as place:
        await play(place, good_run(1))
        for pane in PLACES:
            await place.pilot.press("ctrl+o")
            await dialog(place)
            await place.pilot.press(pane.digit)
            await place.until(lambda: len(place.app.screen_stack) == 1)
            await place.until(lambda name=pane.name: shown(place, f"#{name}"))  # type: ignore[misc]
            region = place.app.query_one(f"#{pane.name}").region

            assert region.height >= 3
            assert region.width >= 30
            assert place.app.arrangement.active == pane.name
            focused = place.app.focused
            assert focused is not None
            assert place.app.query_one(f"#{pane.name}") in focused.ancestors_with_self


@pytest.mark.parametrize("size", [(59, 20), (80, 14), (20, 5)])
async def test_too_small(tmp_path: Path, size: tuple[int, int]) -> None:
    """A terminal that is too small says which size is needed."""
    async with stage(tmp_path, size=size) as place:
        tiny = place.app.query_one("#tiny")

        assert tiny.region.area
        assert "60x15" in str(tiny.render())
        assert not shown(place, "#main")

        await place.pilot.resize_terminal(100, 30)
        await place.pilot.pause()

        assert not tiny.region.area
        assert shown(place, "#verdict")


async def test_zoom(tmp_path: Path) -> None:
    """F5 gives the focused pane the whole screen, a pane gone to takes its place, and F5 again gives it back."""
    async with stage(tmp_path) as place:
        await place.pilot.press("f5")
        await place.pilot.pause()
        assert shown(place, "#editor")
        assert not shown(place, "#verdict")
        assert place.app.query_one("#editor").region.width > 150

        await place.pilot.press("escape")
        await place.until(lambda: shown(place, "#verdict"))
        assert not shown(place, "#editor")

        await place.pilot.press("f5")
        await place.pilot.pause()
        assert shown(place, "#editor")
        assert shown(place, "#verdict")


async def test_hide_and_bring_back(tmp_path: Path) -> None:
    """F7 hides the focused pane, and going to a hidden pane brings it back; the last pane cannot be hidden."""
    async with stage(tmp_path) as place:
        await place.app.run_action("focus_pane('history')")
        await place.pilot.press("f7")
        await place.until(lambda: not shown(place, "#history"))
        assert shown(place, "#editor")

        for _ in range(6):
            await place.pilot.press("f7")
            await place.pilot.pause()
        assert sum(shown(place, f"#{frame}") for frame in ("left", "editor-pane", "verdict", "speed", "bottom")) == 1

        await place.app.run_action("focus_pane('history')")
        await place.until(lambda: shown(place, "#history"))

        await place.app.run_action("show_all")
        await place.pilot.pause()
        assert all(shown(place, f"#{region}") for region in ("left", "editor-pane", "right", "bottom"))


async def test_hidden_region_comes_back_as_it_was(tmp_path: Path) -> None:
    """A region that comes back has the full names on its tabs from the first moment, not shortened ones."""
    async with stage(tmp_path) as place:
        bottom = place.app.query_one("#bottom", TabbedRegion)
        await place.app.run_action("focus_pane('history')")
        await place.pilot.press("f7")
        await place.until(lambda: not shown(place, "#history"))
        await bottom.show("log")
        assert "Diagnostics" in str(bottom.border_title)

        await place.app.run_action("focus_pane('log')")
        await place.until(lambda: shown(place, "#log"))
        await place.pilot.pause()
        assert "Diagnostics" in str(bottom.border_title)


async def test_resize_under_a_dialog(tmp_path: Path) -> None:
    """A terminal that changes its size while a dialog is open is laid out anew behind it."""
    async with stage(tmp_path) as place:
        await place.pilot.press("f1")
        await dialog(place)
        await place.pilot.resize_terminal(80, 24)
        await place.pilot.pause()
        await place.pilot.press("escape")
        await place.until(lambda: shown(place, "#strip"))
