"""What events bring on the screen, and where rows of it lead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.widgets.script import crash_run, good_run
from tests.widgets.stage import play, stage, words
from widgets.frame import TabbedRegion
from workbench.events import Notice


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
