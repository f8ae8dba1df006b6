"""The working file when another program saves it: taken, asked for, compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.saves import by_rename, in_place
from tests.widgets.stage import TEXT, dialog, stage


@pytest.mark.parametrize("how", ["rename", "in place"])
async def test_save_from_outside(tmp_path: Path, how: str) -> None:
    """A save by another editor runs and shows in the pane; the cursor stays on its line."""
    async with stage(tmp_path) as place:
        editor = place.app.editor_pane.editor
        editor.go_to(9, 5)
        changed = "# from outside\n" + TEXT
        (by_rename if how == "rename" else in_place)(place.path, changed)
        await place.until(lambda: place.text == changed)

        assert place.runner.given[-1][0].text == changed
        assert place.runner.given[-1][1] == "disk"
        assert editor.cursor_location == (9, 4)
        assert not place.app.editor_pane.dirty


async def test_touch_does_not_run(tmp_path: Path) -> None:
    """A save that changes nothing is shown with its time and does not run."""
    async with stage(tmp_path) as place:
        await place.pilot.pause(0.2)
        by_rename(place.path, TEXT)
        await place.until(lambda: place.app.view.seen and not place.app.view.seen.changed)

        assert len(place.runner.given) == 1


async def test_conflict_keep_mine(tmp_path: Path) -> None:
    """When the file changes under unsaved text, the new content is run, and the user may keep the own text."""
    async with stage(tmp_path) as place:
        place.write("mine ")
        by_rename(place.path, "# theirs\n" + TEXT)
        await dialog(place)
        assert place.runner.given[-1][0].text == "# theirs\n" + TEXT
        await place.until(lambda: "theirs" in place.app.export_screenshot())

        await place.pilot.press("k")
        await place.until(lambda: len(place.app.screen_stack) == 1)

        assert place.text == "mine " + TEXT
        assert place.app.editor_pane.dirty
        await place.pilot.press("ctrl+s")
        await place.until(lambda: place.path.read_text() == "mine " + TEXT)


async def test_conflict_take_disk(tmp_path: Path) -> None:
    """Or the file is taken, and undo brings the own text back."""
    async with stage(tmp_path) as place:
        place.write("mine ")
        by_rename(place.path, "# theirs\n" + TEXT)
        await dialog(place)
        await place.pilot.press("t")
        await place.until(lambda: place.text == "# theirs\n" + TEXT)

        assert not place.app.editor_pane.dirty
        await place.pilot.press("ctrl+z")
        assert "mine" in place.text


async def test_taking_the_file_asks_for_unsaved_text(tmp_path: Path) -> None:
    """Taking the file from disk asks where text would be lost, and blames no other program for it."""
    async with stage(tmp_path) as place:
        place.write("mine ")
        await place.pilot.pause()
        place.app.action_reload()
        await dialog(place)
        await place.until(lambda: "saved" in place.app.export_screenshot())
        assert "another" not in place.app.export_screenshot()
        await place.pilot.press("t")
        await place.until(lambda: place.text == TEXT)


async def test_saving_over_a_newer_file_asks(tmp_path: Path) -> None:
    """Saving never replaces what another program has just written, even before the watcher has told of it."""
    async with stage(tmp_path) as place:
        await place.app.files.close()
        place.write("mine ")
        by_rename(place.path, "# theirs\n" + TEXT)
        await place.pilot.press("ctrl+s")
        await dialog(place)
        assert place.path.read_text() == "# theirs\n" + TEXT

        await place.pilot.press("k")
        await place.until(lambda: len(place.app.screen_stack) == 1)
        await place.pilot.press("ctrl+s")
        await place.until(lambda: place.path.read_text() == "mine " + TEXT)


async def test_saving_clean_text_takes_a_newer_file(tmp_path: Path) -> None:
    """With nothing of its own in the pane, saving judges the newer file and shows it."""
    async with stage(tmp_path) as place:
        await place.app.files.close()
        by_rename(place.path, "# theirs\n" + TEXT)
        await place.pilot.press("ctrl+s")
        await place.until(lambda: len(place.runner.given) == 2)
        await place.until(lambda: place.text == "# theirs\n" + TEXT)

        assert place.path.read_text() == "# theirs\n" + TEXT


async def test_compare(tmp_path: Path) -> None:
    """The pane can be compared with the file at any time."""
    async with stage(tmp_path) as place:
        await place.app.run_action("compare")
        await place.until(lambda: "holds what the file holds" in place.messages())
        place.write("new_line\n")
        await place.app.run_action("compare")
        await place.until(lambda: "your text" in place.app.export_screenshot().replace("&#160;", " "))
