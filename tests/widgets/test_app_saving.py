"""Saving the working file: what is written, what is run, what is said where it fails."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.saves import by_rename
from tests.widgets.stage import TEXT, stage
from widgets.topline import TopLine


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
        by_rename(path, changed)
        await place.until(lambda: place.text == changed and not place.app.editor_pane.dirty)


async def test_cancel(tmp_path: Path) -> None:
    """F3 cancels the run, and says so where none is running."""
    async with stage(tmp_path) as place:
        await place.pilot.press("f3")
        await place.until(lambda: place.app.view.status == "cancelled")
        await place.pilot.press("f3")
        await place.until(lambda: "nothing is running" in place.messages())


async def test_copy_says_what_was_done(tmp_path: Path) -> None:
    """Copying says that nothing can confirm it, and leaves the text in a file."""
    async with stage(tmp_path) as place:
        await place.app.run_action("focus_pane('reference')")
        await place.pilot.press("y")
        await place.until(lambda: "OSC 52" in place.messages())
        kept = Path(os.environ["PKWB_STATE_DIR"]) / "clipboard.txt"

        assert "clipboard.txt" in place.messages()
        assert "dist.all_reduce" in kept.read_text()
