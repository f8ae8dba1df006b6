"""The working file: saving, changes from outside, unsaved text, quitting."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sessions.recovery import Recovery
from sessions.store import Store
from tests.widgets.script import good_run
from tests.widgets.stage import TEXT, Stage, stage
from widgets.topline import TopLine


def save_outside(path: Path, text: str) -> None:
    """Save as many editors do: a new file moved over the old one."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    os.replace(fresh, path)


async def dialog(place: Stage) -> None:
    """Wait until a question is on screen."""
    await place.until(lambda: len(place.app.screen_stack) == 2)


async def test_first_run(tmp_path: Path) -> None:
    """The file is judged as soon as it is opened."""
    async with stage(tmp_path) as place:
        source, origin = place.runner.given[0]

        assert (source.text, origin) == (TEXT, "start")


async def test_save_runs_once(tmp_path: Path) -> None:
    """ctrl+s writes the file and runs it once, although the watcher sees the save too."""
    async with stage(tmp_path) as place:
        place.write("# x\n")
        await place.pilot.press("ctrl+s")
        await place.until(lambda: len(place.runner.given) == 2)
        await place.pilot.pause(0.5)

        assert place.path.read_text() == "# x\n" + TEXT
        assert [origin for _, origin in place.runner.given] == ["start", "pane"]
        assert "saved" in str(place.app.editor_pane.border_title)


async def test_saving_twice_runs_twice(tmp_path: Path) -> None:
    """Saving the same text again runs it again, since the user asked for it, and says that nothing has changed."""
    async with stage(tmp_path) as place:
        place.write("# x\n")
        await place.pilot.press("ctrl+s")
        await place.until(lambda: len(place.runner.given) == 2)
        assert "unchanged" not in place.messages()
        await place.pilot.press("ctrl+s")
        await place.until(lambda: len(place.runner.given) == 3)

        assert "the text is unchanged; it is judged once more" in place.messages()


@pytest.mark.parametrize("how", ["rename", "in place"])
async def test_save_from_outside(tmp_path: Path, how: str) -> None:
    """A save by another editor runs and shows in the pane; the cursor stays on its line."""
    async with stage(tmp_path) as place:
        editor = place.app.editor_pane.editor
        editor.go_to(9, 5)
        changed = "# from outside\n" + TEXT
        (save_outside if how == "rename" else Path.write_text)(place.path, changed)
        await place.until(lambda: place.text == changed)

        assert place.runner.given[-1][0].text == changed
        assert place.runner.given[-1][1] == "disk"
        assert editor.cursor_location == (9, 4)
        assert not place.app.editor_pane.dirty


async def test_touch_does_not_run(tmp_path: Path) -> None:
    """A save that changes nothing is shown with its time and does not run."""
    async with stage(tmp_path) as place:
        await place.pilot.pause(0.2)
        save_outside(place.path, TEXT)
        await place.until(lambda: place.app.view.seen and not place.app.view.seen.changed)

        assert len(place.runner.given) == 1


async def test_conflict_keep_mine(tmp_path: Path) -> None:
    """When the file changes under unsaved text, the new content is run, and the user may keep the own text."""
    async with stage(tmp_path) as place:
        place.write("mine ")
        save_outside(place.path, "# theirs\n" + TEXT)
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
        save_outside(place.path, "# theirs\n" + TEXT)
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
        save_outside(place.path, "# theirs\n" + TEXT)
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
        save_outside(place.path, "# theirs\n" + TEXT)
        await place.pilot.press("ctrl+s")
        await place.until(lambda: len(place.runner.given) == 2)
        await place.until(lambda: place.text == "# theirs\n" + TEXT)

        assert place.path.read_text() == "# theirs\n" + TEXT


@pytest.mark.parametrize(("everywhere", "said"), [(False, "kept for recovery"), (True, "in this pane alone")])
async def test_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, everywhere: bool, said: str) -> None:
    """A save that fails says why and where the text is now: kept for recovery, or nowhere else; the file stays."""
    sync = os.fsync
    async with stage(tmp_path) as place:

        def refuse(descriptor: int) -> None:
            if everywhere or "solutions_pytorch" in os.readlink(f"/proc/self/fd/{descriptor}"):
                raise OSError(28, "No space left on device")
            sync(descriptor)

        place.write("new ")
        with monkeypatch.context() as patched:
            patched.setattr("workbench.files.os.fsync", refuse)
            await place.pilot.press("ctrl+s")
            await place.until(lambda: "disk is full" in place.messages())

        assert said in place.messages()
        assert place.path.read_text() == TEXT
        assert place.text.startswith("new ")
        assert place.app.editor_pane.dirty
        assert len(place.runner.given) == 1


async def test_deleted_file(tmp_path: Path) -> None:
    """A file that was deleted is said so, with what to do, and saving makes it again."""
    async with stage(tmp_path) as place:
        place.path.unlink()
        await place.pilot.press("f2")
        await place.until(lambda: "does not exist: saving writes the text" in place.messages())
        await place.pilot.press("ctrl+s")
        await place.until(lambda: "the file is there again" in place.messages())

        assert place.path.read_text() == TEXT


async def test_deleted_file_is_noticed(tmp_path: Path) -> None:
    """That the file is gone is said without a key, and the first row says so for as long as it is."""
    async with stage(tmp_path) as place:
        top = place.app.query_one(TopLine)
        place.path.unlink()
        await place.until(lambda: "is gone: saving writes the text" in place.messages())
        await place.until(lambda: "the file is gone" in str(top.render()))
        await place.pilot.press("ctrl+s")
        await place.until(lambda: "the file is gone" not in str(top.render()))


async def test_empty_file(tmp_path: Path) -> None:
    """An empty file can be opened; it says what is missing and does not run."""
    async with stage(tmp_path, text="", ready=False) as place:
        await place.until(lambda: "must define solution" in place.messages())

        assert place.runner.given == []
        place.write("x = 1")
        await place.pilot.press("ctrl+s")
        await place.until(lambda: place.path.read_text() == "x = 1")


@pytest.mark.parametrize(
    "content", ["a\r\nb\r\n", "a\r\nb\nc\n", "a\n\x0c\nb", "'\x0b\x1c\x85\u2028'\n", "\ta\rb\n", "日本\n"]
)
async def test_line_ends_survive(tmp_path: Path, content: str) -> None:
    """Adding one character changes that character alone: Windows, mixed and missing line ends stay, page breaks too."""
    path = tmp_path / "solutions_pytorch" / "1_allreduce_pytorch.py"
    path.parent.mkdir()
    path.write_bytes(content.encode())
    async with stage(tmp_path) as place:
        assert place.text == content
        await place.pilot.press("#", "ctrl+s")
        await place.until(lambda: place.path.read_bytes() == f"#{content}".encode())

        changed = f"##{content}"
        save_outside(path, changed)
        await place.until(lambda: place.text == changed and not place.app.editor_pane.dirty)


async def test_unsaved_text_is_kept(tmp_path: Path) -> None:
    """Unsaved text lies in the recovery file a second after the last key, and is gone from there once saved."""
    async with stage(tmp_path) as place:
        place.write("kept ")
        folder = Path(os.environ["PKWB_STATE_DIR"]) / "recovery"
        await place.until(lambda: list(folder.glob("*.json")))
        await place.pilot.press("ctrl+s")
        await place.until(lambda: not list(folder.glob("*.json")))


def left_behind(path: Path, text: str) -> None:
    """Unsaved text of a pkwb that is gone."""
    from tests.program import script

    code = "import sys; from pathlib import Path; from sessions.recovery import Recovery; "
    code += "Recovery(Path(sys.argv[1])).write(sys.argv[2])"
    with script(code, str(path), text, cwd=path.parent) as process:
        assert process.wait(60) == 0


@pytest.mark.parametrize(("key", "text"), [("r", "unsaved = 1\n" + TEXT), ("d", TEXT)])
async def test_recovered_text_is_offered(tmp_path: Path, key: str, text: str) -> None:
    """Text left behind is offered with a diff at the next start: restored it is unsaved, discarded it is gone."""
    path = tmp_path / "solutions_pytorch" / "1_allreduce_pytorch.py"
    path.parent.mkdir()
    path.write_text(TEXT)
    left_behind(path, "unsaved = 1\n" + TEXT)
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
    left_behind(path, "unsaved = 1\n" + TEXT)
    async with stage(tmp_path, size=size) as place:
        await dialog(place)
        await place.until(lambda: all(word in place.app.export_screenshot() for word in ("discard", "decide", "later")))


@pytest.mark.parametrize("key", ["l", "escape", "ctrl+q"])
async def test_recovered_text_is_offered_again(tmp_path: Path, key: str) -> None:
    """Text that the user has not decided on is offered again at the next start, whatever was saved in between."""
    path = tmp_path / "solutions_pytorch" / "1_allreduce_pytorch.py"
    path.parent.mkdir()
    path.write_text(TEXT)
    left_behind(path, "unsaved = 1\n" + TEXT)
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


async def test_cancel(tmp_path: Path) -> None:
    """F3 cancels the run, and says so where none is running."""
    async with stage(tmp_path) as place:
        await place.pilot.press("f3")
        await place.until(lambda: place.app.view.status == "cancelled")
        await place.pilot.press("f3")
        await place.until(lambda: "nothing is running" in place.messages())


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


async def test_copy_says_what_was_done(tmp_path: Path) -> None:
    """Copying says that nothing can confirm it, and leaves the text in a file."""
    async with stage(tmp_path) as place:
        await place.app.run_action("focus_pane('reference')")
        await place.pilot.press("y")
        await place.until(lambda: "OSC 52" in place.messages())
        kept = Path(os.environ["PKWB_STATE_DIR"]) / "clipboard.txt"

        assert "clipboard.txt" in place.messages()
        assert "dist.all_reduce" in kept.read_text()


async def test_compare(tmp_path: Path) -> None:
    """The pane can be compared with the file at any time."""
    async with stage(tmp_path) as place:
        await place.app.run_action("compare")
        await place.until(lambda: "holds what the file holds" in place.messages())
        place.write("new_line\n")
        await place.app.run_action("compare")
        await place.until(lambda: "your text" in place.app.export_screenshot().replace("&#160;", " "))


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
