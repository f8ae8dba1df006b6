"""What one sitting remembers of the screen for the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.widgets.stage import shown, stage
from workbench.controllers.memory import remembered
from workbench.files import read_json, state_dir, write_json
from workbench.settings import load_settings


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
