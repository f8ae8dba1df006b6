"""Earlier attempts and sittings inside the app."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sessions.store import Store
from tests.widgets.script import good_run
from tests.widgets.stage import TEXT, dialog, stage


async def test_earlier_attempt_is_restored(tmp_path: Path) -> None:
    """An attempt chosen in the history shows its diff, and r brings its text back into the editor, unsaved."""
    async with stage(tmp_path) as place:
        place.runner.end()
        place.write("# second\n")
        await place.pilot.press("ctrl+s")
        await place.until(lambda: len(place.runner.given) == 2)
        place.runner.end("wrong", "rank 0 is wrong")
        history = place.app.panes["history"]
        await place.until(lambda: len(history.lines.texts) == 2)  # type: ignore[attr-defined]
        await place.app.run_action("focus_pane('history')")
        await place.pilot.press("down", "enter")
        await dialog(place)
        await place.until(lambda: "second" in place.app.export_screenshot())

        await place.pilot.press("r")
        await place.until(lambda: place.text == TEXT)

        assert place.app.editor_pane.dirty
        assert place.path.read_text() == "# second\n" + TEXT


async def test_earlier_sitting(tmp_path: Path) -> None:
    """The next sitting shows the attempts of the one before, and its best speedup under the same conditions."""
    async with stage(tmp_path) as place:
        for event in good_run(1):
            place.runner.emit(event)
        history: Any = place.app.panes["history"]
        await place.until(lambda: "1.34x *" in history.lines.texts[0])

    async with stage(tmp_path) as place:
        history = place.app.panes["history"]
        await place.until(lambda: history.lines.texts[0].startswith("id 1 "))
        for event in good_run(1, speedup=1.2):
            place.runner.emit(event)
        speed: Any = place.app.panes["speed"]
        await place.until(lambda: any("1.34x (id 1, earlier sitting)" in text for text in speed.lines.texts))


async def test_opened_problem_is_remembered(tmp_path: Path) -> None:
    """When a problem was opened is kept, for the list of problems."""
    async with stage(tmp_path) as place:
        await place.until(lambda: place.app.runs.sitting)

    store = Store.open()
    assert store.standings()["1_allreduce"].opened is not None
    store.close()
