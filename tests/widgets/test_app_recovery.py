"""Unsaved text that is kept and offered again at the next start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sessions.recovery import Recovery
from tests.sessions.samples import crash
from tests.widgets.stage import TEXT, dialog, stage


async def test_unsaved_text_is_kept(tmp_path: Path) -> None:
    """Unsaved text lies in the recovery file a second after the last key, and is gone from there once saved."""
    async with stage(tmp_path) as place:
        place.write("kept ")
        folder = Path(os.environ["PKWB_STATE_DIR"]) / "recovery"
        await place.until(lambda: list(folder.glob("*.json")))
        await place.pilot.press("ctrl+s")
        await place.until(lambda: not list(folder.glob("*.json")))


@pytest.mark.parametrize(("key", "text"), [("r", "unsaved = 1\n" + TEXT), ("d", TEXT)])
async def test_recovered_text_is_offered(tmp_path: Path, key: str, text: str) -> None:
    """Text left behind is offered with a diff at the next start: restored it is unsaved, discarded it is gone."""
    path = tmp_path / "solutions_pytorch" / "1_allreduce_pytorch.py"
    path.parent.mkdir()
    path.write_text(TEXT)
    crash(path, "unsaved = 1\n" + TEXT)
    async with stage(tmp_path) as place:
        await dialog(place)
        await place.until(lambda: "unsaved" in place.app.export_screenshot())
        await place.pilot.press(key)
        await place.until(lambda: len(place.app.screen_stack) == 1)
        await place.pilot.pause(0.1)

        assert place.text == text
        assert place.path.read_text() == TEXT
        assert Recovery(path).pending() is None


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_all_answers_are_in_sight(tmp_path: Path, size: tuple[int, int]) -> None:
    """On a narrow screen the answers to a question take a second row rather than end at the frame."""
    path = tmp_path / "solutions_pytorch" / "1_allreduce_pytorch.py"
    path.parent.mkdir()
    path.write_text(TEXT)
    crash(path, "unsaved = 1\n" + TEXT)
    async with stage(tmp_path, size=size) as place:
        await dialog(place)
        await place.until(lambda: all(word in place.app.export_screenshot() for word in ("discard", "decide", "later")))


@pytest.mark.parametrize("key", ["l", "escape", "ctrl+q"])
async def test_recovered_text_is_offered_again(tmp_path: Path, key: str) -> None:
    """Text that the user has not decided on is offered again at the next start, whatever was saved in between."""
    path = tmp_path / "solutions_pytorch" / "1_allreduce_pytorch.py"
    path.parent.mkdir()
    path.write_text(TEXT)
    crash(path, "unsaved = 1\n" + TEXT)
    async with stage(tmp_path) as place:
        place.runner.end()
        await dialog(place)
        await place.pilot.press(key)
        if key != "ctrl+q":
            await place.until(lambda: len(place.app.screen_stack) == 1)
            place.write("# x\n")
            await place.pilot.press("ctrl+s")
            await place.until(lambda: len(place.runner.given) == 2)

    async with stage(tmp_path) as again:
        await dialog(again)
        await again.until(lambda: "unsaved" in again.app.export_screenshot())
