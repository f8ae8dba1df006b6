"""The app's screen: layouts, panes, keys, and what events bring on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual import events

from tests.widgets.script import crash_run, good_run, gpu_run, hang_run, wrong_run
from tests.widgets.stage import Stage, stage
from widgets.frame import PLACES, TabbedRegion
from widgets.lines import Lines
from workbench.actions import BY_ID
from workbench.controllers.memory import remembered
from workbench.events import Notice
from workbench.files import read_json, state_dir, write_json
from workbench.settings import load_settings

EVERY_SIZE = [(160, 48), (80, 24), (60, 15)]


def shown(place: Stage, selector: str) -> bool:
    """Whether a widget has room on the screen."""
    widget = place.app.screen_stack[0].query_one(selector)
    return bool(widget.region.area) and widget.is_on_screen


def words(place: Stage, pane: str) -> str:
    """What a pane says."""
    widget: Any = place.app.panes[pane]
    return "\n".join(widget.lines.texts)


async def play(place: Stage, events: list[Any]) -> None:
    """Send events and wait until they are drawn."""
    for event in events:
        place.runner.emit(event)
    await place.pilot.pause(0.1)


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
            await place.until(lambda: len(place.app.screen_stack) == 2)
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


async def test_clicking_a_tab(tmp_path: Path) -> None:
    """A click on a name in the frame brings its pane to the front."""
    async with stage(tmp_path) as place:
        region = place.app.query_one("#left", TabbedRegion)
        await place.pilot.click(region, offset=(17, 0))
        await place.until(lambda: place.app.arrangement.active == "topology")


async def test_number_keys(tmp_path: Path) -> None:
    """Outside the editor a digit goes to its pane; in the editor it is text."""
    async with stage(tmp_path) as place:
        await place.pilot.press("3")
        assert place.text.startswith("3")

        await place.pilot.press("escape")
        await place.until(lambda: place.app.arrangement.active == "verdict")
        await place.pilot.press("3")
        await place.until(lambda: shown(place, "#reference"))
        assert "all_reduce" in words(place, "reference")


async def test_tab_goes_round(tmp_path: Path) -> None:
    """Tab and shift+tab go through the panes outside the editor."""
    async with stage(tmp_path) as place:
        await place.pilot.press("escape")
        await place.until(lambda: place.app.arrangement.active == "verdict")
        await place.pilot.press("tab")
        assert place.app.arrangement.active == "speed"
        await place.pilot.press("shift+tab")
        assert place.app.arrangement.active == "verdict"


async def test_events_reach_the_panes(tmp_path: Path) -> None:
    """A good run shows verdict, speedup, stages and its row in the history."""
    async with stage(tmp_path) as place:
        await play(place, good_run(1))

        assert "ok, 5 of 5 trials" in words(place, "verdict")
        assert "1.34x" in words(place, "speed")
        await place.until(lambda: "1.34x" in words(place, "history"))


async def test_pane_opened_later_shows_the_present(tmp_path: Path) -> None:
    """A pane that is first opened after a run shows that run."""
    async with stage(tmp_path) as place:
        await play(place, crash_run(1))
        await place.app.run_action("focus_pane('diagnostics')")
        await place.until(lambda: "ValueError" in words(place, "diagnostics"))
        await place.app.run_action("focus_pane('log')")
        await place.until(lambda: "entering" in words(place, "log"))


async def test_error_line(tmp_path: Path) -> None:
    """The line of an error carries a sign, its message stands at the frame, and F8 goes there."""
    async with stage(tmp_path) as place:
        await play(place, crash_run(1))
        editor = place.app.editor_pane.editor
        assert list(editor.marks) == [11]
        assert "(1)" in str(place.app.query_one("#bottom", TabbedRegion).border_title)

        await place.pilot.press("f8")
        await place.pilot.pause()

        assert editor.cursor_location[0] == 11
        assert "ValueError: no such shape" in str(place.app.editor_pane.border_subtitle)


async def test_diagnostic_jumps_into_the_editor(tmp_path: Path) -> None:
    """Enter on a diagnostic puts the cursor at its place."""
    async with stage(tmp_path, text="x = 1\n" * 40) as place:
        await play(place, crash_run(1))
        await place.app.run_action("focus_pane('diagnostics')")
        await place.pilot.pause()
        await place.pilot.press("enter")
        await place.until(lambda: place.app.arrangement.active == "editor")

        assert place.app.editor_pane.editor.cursor_location == (11, 4)


async def test_rank_row_filters_the_log(tmp_path: Path) -> None:
    """Enter on a rank's row shows the output of that rank alone."""
    async with stage(tmp_path) as place:
        await play(place, crash_run(1))
        await place.app.run_action("focus_pane('verdict')")
        await place.pilot.press("down", "enter")
        await place.until(lambda: place.app.arrangement.active == "log")
        await place.until(lambda: "ValueError" in words(place, "log"))

        assert "entering" not in words(place, "log")


async def test_notice_is_shown(tmp_path: Path) -> None:
    """A notice of the machinery is shown as a message, markup characters included."""
    async with stage(tmp_path) as place:
        place.runner.emit(Notice(severity="warning", text="the store [is] damaged"))
        await place.until(lambda: "the store [is] damaged" in place.messages())


async def test_theme_key(tmp_path: Path) -> None:
    """F9 goes through the themes, the terminal's own colours among them, and the screen still reads."""
    async with stage(tmp_path) as place:
        await play(place, good_run(1))
        seen = set()
        for _ in range(4):
            await place.pilot.press("f9")
            await place.pilot.pause()
            seen.add(place.app.theme)
            assert place.app.editor_pane.editor.theme == place.app.theme
            assert "ok, 5 of 5 trials" in place.app.export_screenshot().replace("&#160;", " ")

        assert seen == {"pkwb-dark", "pkwb-light", "ansi-dark", "ansi-light"}


async def test_palette_lists_the_actions(tmp_path: Path) -> None:
    """ctrl+p finds an action by its name and does it."""
    async with stage(tmp_path) as place:
        await place.pilot.press("ctrl+p")
        await place.until(lambda: len(place.app.screen_stack) == 2)
        await place.pilot.press(*"layout")
        await place.pilot.pause(0.5)
        await place.pilot.press("enter")
        await place.until(lambda: not shown(place, "#editor"))


async def test_help_of_the_focused_pane(tmp_path: Path) -> None:
    """F1 explains the pane that has the focus, F10 lists every key."""
    async with stage(tmp_path) as place:
        await place.app.run_action("focus_pane('verdict')")
        await place.pilot.press("f1")
        await place.until(lambda: len(place.app.screen_stack) == 2)
        text = place.app.export_screenshot().replace("&#160;", " ")
        assert "Verdict" in text
        assert "largest absolute error" in text

        await place.pilot.press("escape")
        await place.pilot.press("f10")
        await place.until(lambda: len(place.app.screen_stack) == 2)
        assert "ctrl+s" in str(place.app.screen.query_one("#help-keys").render())


async def test_remapped_key(tmp_path: Path) -> None:
    """A key from the settings does the action, the old one does not, and the help shows the new one."""
    async with stage(tmp_path, keys={"run_again": "f8", "next_error": "f2"}) as place:
        before = len(place.runner.given)
        await place.pilot.press("f2")
        await place.pilot.pause(0.1)
        assert len(place.runner.given) == before

        await place.pilot.press("f8")
        await place.until(lambda: len(place.runner.given) == before + 1)

        await place.pilot.press("f10")
        await place.until(lambda: len(place.app.screen_stack) == 2)
        sheet = str(place.app.screen.query_one("#help-keys").render()).splitlines()
        assert [line.split()[0] for line in sheet if BY_ID["run_again"].help in line] == ["f8"]


async def test_resize_under_a_dialog(tmp_path: Path) -> None:
    """A terminal that changes its size while a dialog is open is laid out anew behind it."""
    async with stage(tmp_path) as place:
        await place.pilot.press("f1")
        await place.until(lambda: len(place.app.screen_stack) == 2)
        await place.pilot.resize_terminal(80, 24)
        await place.pilot.pause()
        await place.pilot.press("escape")
        await place.until(lambda: shown(place, "#strip"))


async def test_keys_typed_ahead(tmp_path: Path) -> None:
    """A digit that follows ctrl+o at once, as over a slow line, goes to the pane and not into the text."""
    async with stage(tmp_path) as place:
        driver = place.app._driver
        assert driver is not None
        for key, character in (("ctrl+o", None), ("7", "7")):
            driver.process_message(events.Key(key, character))
        await place.until(lambda: place.app.arrangement.active == "history")

        assert not place.app.editor_pane.dirty


async def test_dialog_keeps_its_keys(tmp_path: Path) -> None:
    """While a dialog is open, keys of the app do nothing behind it."""
    async with stage(tmp_path) as place:
        before = len(place.runner.given)
        await place.pilot.press("f10")
        await place.until(lambda: len(place.app.screen_stack) == 2)
        await place.pilot.press("f2", "ctrl+s", "f5")
        await place.pilot.pause(0.1)

        assert len(place.app.screen_stack) == 2
        assert len(place.runner.given) == before


async def test_error_of_the_app_itself(tmp_path: Path, own_folders: Path) -> None:
    """An error in a handler is reported in a file and on screen, and the app works on."""
    async with stage(tmp_path, survive=True) as place:

        async def broken() -> None:
            raise RuntimeError("a slip of ours")

        def broken_pane(_view: Any) -> None:
            raise RuntimeError("another slip")

        place.app.background(broken(), "test")
        await place.until(lambda: "goes on" in place.messages())
        place.app.panes["speed"].show_view = broken_pane  # type: ignore[attr-defined]
        await play(place, good_run(1))
        reports = list((own_folders / "state" / "crashes").glob("*.txt"))

        assert "a slip of ours" in reports[0].read_text()
        assert "another slip" in reports[0].read_text()
        assert "ok, 5 of 5 trials" in words(place, "verdict")
        await place.pilot.press(*"still here")
        assert place.text.startswith("still here")


async def test_look_is_remembered(tmp_path: Path) -> None:
    """Layout, theme and hidden panes chosen on screen are there again in the next sitting."""
    async with stage(tmp_path) as place:
        await place.app.run_action("focus_pane('history')")
        await place.pilot.press("f7", "f9", "f6")
        await place.until(lambda: (state_dir() / "screen.json").exists() and not shown(place, "#editor"))
        await place.until(lambda: read_json(state_dir() / "screen.json").keys() == {"theme", "results", "hidden"})

    async with stage(tmp_path) as place:
        assert place.app.theme == "pkwb-light"
        assert not shown(place, "#history")
        assert not shown(place, "#editor")
        assert shown(place, "#verdict")


async def test_settings_come_before_what_is_remembered(tmp_path: Path) -> None:
    """A layout that the settings file or a flag asks for wins over the one of the last sitting."""
    write_json(state_dir() / "screen.json", {"theme": "ansi-dark", "results": True, "hidden": ["bottom"]})
    own = load_settings({"ui.layout": "full"}, cwd=tmp_path)
    look = remembered(own)

    assert (look.results, look.theme, look.hidden) == (False, "ansi-dark", ("bottom",))
    assert remembered(load_settings(cwd=tmp_path)).results


@pytest.mark.parametrize("kept", ["", "[]", '{"theme": "pink", "results": "yes", "hidden": [7, "moon"]}'])
async def test_damaged_memory_of_the_screen(tmp_path: Path, kept: str) -> None:
    """What cannot be understood of the last sitting's screen is left out."""
    state_dir().mkdir(parents=True)
    (state_dir() / "screen.json").write_text(kept)
    async with stage(tmp_path) as place:
        assert place.app.theme == "pkwb-dark"
        assert shown(place, "#editor")


async def test_something_is_always_shown(tmp_path: Path) -> None:
    """If all that the last sitting left visible is the editor, the results-only layout still shows results."""
    hidden = ["left", "verdict", "speed", "bottom"]
    write_json(state_dir() / "screen.json", {"results": True, "hidden": hidden})
    async with stage(tmp_path) as place:
        assert shown(place, "#verdict")
