"""Quitting: at once, after a question, and with nothing left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.widgets.stage import TEXT, dialog, stage


async def test_quit_at_rest(tmp_path: Path) -> None:
    """ctrl+q leaves at once when nothing would be lost, and the ranks are ended."""
    async with stage(tmp_path) as place:
        place.runner.end()
        await place.pilot.press("ctrl+q")
        await place.until(lambda: not place.app.is_running)

        assert place.runner.closed


async def test_quit_asks_during_a_run(tmp_path: Path) -> None:
    """During a run it asks; escape stays."""
    async with stage(tmp_path) as place:
        await place.pilot.press("ctrl+q")
        await dialog(place)
        await place.pilot.press("escape")
        await place.until(lambda: len(place.app.screen_stack) == 1)
        assert not place.runner.closed

        await place.pilot.press("ctrl+q")
        await dialog(place)
        await place.pilot.press("y")
        await place.until(lambda: place.runner.closed)


@pytest.mark.parametrize(("key", "text"), [("s", "unsaved " + TEXT), ("d", TEXT)])
async def test_quit_asks_for_unsaved_text(tmp_path: Path, key: str, text: str) -> None:
    """With unsaved text it offers to save, or to leave without, and then nothing is offered at the next start."""
    async with stage(tmp_path) as place:
        place.runner.end()
        place.write("unsaved ")
        await place.pilot.press("ctrl+q")
        await dialog(place)
        await place.pilot.press(key)
        await place.until(lambda: place.runner.closed)

    assert place.path.read_text() == text
    assert not list((Path(os.environ["PKWB_STATE_DIR"]) / "recovery").glob("*.json"))


async def test_quit_keys_outside_the_editor(tmp_path: Path) -> None:
    """q is text in the editor and leaves outside of it; one ctrl+c only tells, the second leaves."""
    async with stage(tmp_path) as place:
        place.runner.end()
        await place.pilot.press("q")
        assert place.text.startswith("q")
        await place.pilot.press("ctrl+z", "escape")
        await place.until(lambda: place.app.arrangement.active == "verdict")
        await place.pilot.press("ctrl+c")
        await place.until(lambda: "again to quit" in place.messages())
        assert not place.runner.closed

        await place.pilot.press("ctrl+c")
        await place.until(lambda: place.runner.closed)


async def test_nothing_left_open(tmp_path: Path) -> None:
    """After the end no descriptor and no thread of the sitting is left."""
    import threading

    async with stage(tmp_path):
        pass
    before, threads = len(os.listdir("/proc/self/fd")), threading.active_count()
    for _ in range(3):
        async with stage(tmp_path) as place:
            await place.pilot.press("x", "ctrl+s")
            await place.until(lambda: len(place.runner.given) == 2)

    assert len(os.listdir("/proc/self/fd")) <= before + 1
    assert threading.active_count() <= threads + 1
