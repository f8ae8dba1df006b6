"""The app's keys: to panes, to actions, to help, and what a dialog keeps for itself."""

from __future__ import annotations

from pathlib import Path

from textual import events

from tests.widgets.script import good_run
from tests.widgets.stage import dialog, play, shown, stage, words
from widgets.frame import TabbedRegion
from workbench.actions import BY_ID


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
        await dialog(place)
        await place.pilot.press(*"layout")
        await place.pilot.pause(0.5)
        await place.pilot.press("enter")
        await place.until(lambda: not shown(place, "#editor"))


async def test_help_of_the_focused_pane(tmp_path: Path) -> None:
    """F1 explains the pane that has the focus, F10 lists every key."""
    async with stage(tmp_path) as place:
        await place.app.run_action("focus_pane('verdict')")
        await place.pilot.press("f1")
        await dialog(place)
        text = place.app.export_screenshot().replace("&#160;", " ")
        assert "Verdict" in text
        assert "largest absolute error" in text

        await place.pilot.press("escape")
        await place.pilot.press("f10")
        await dialog(place)
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
        await dialog(place)
        sheet = str(place.app.screen.query_one("#help-keys").render()).splitlines()
        assert [line.split()[0] for line in sheet if BY_ID["run_again"].help in line] == ["f8"]


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
        await dialog(place)
        await place.pilot.press("f2", "ctrl+s", "f5")
        await place.pilot.pause(0.1)

        assert len(place.app.screen_stack) == 2
        assert len(place.runner.given) == before
