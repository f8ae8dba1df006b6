"""The watcher: every save of every style is seen, once it is whole."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.saves import in_place
from workbench.config import WatchSettings
from workbench.events import WatchChanged
from workbench.files import write_atomic
from workbench.flow import lookout, watch
from workbench.flow.watch import FileWatcher

PATIENCE = 20.0
NEVER = 600.0
"""Seconds between looks where only the system's notices may help."""


class Sitting:
    """A watched file and what its watcher reported: the contents found at each report, and the modes."""

    def __init__(self, path: Path, mode: str, interval: float) -> None:
        self.path = path
        self.contents: list[str] = []
        self.modes: list[WatchChanged] = []
        self._moved = asyncio.Event()
        self.watcher = FileWatcher(path, WatchSettings(mode=mode, interval=interval), self._changed, self._mode)

    def _changed(self) -> None:
        self.contents.append(self.path.read_text() if self.path.exists() else "")
        self._moved.set()

    def _mode(self, event: WatchChanged) -> None:
        self.modes.append(event)
        self._moved.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition that a report makes true."""

        async def wait() -> None:
            while not condition():
                self._moved.clear()
                await self._moved.wait()

        await asyncio.wait_for(wait(), PATIENCE)

    async def sees(self, content: str) -> None:
        """Wait until a report finds the file with this content."""
        await self.until(lambda: self.contents[-1:] == [content])


@asynccontextmanager
async def _watching(path: Path, mode: str, interval: float = 0.05) -> AsyncIterator[Sitting]:
    sitting = Sitting(path, mode, interval)
    await sitting.watcher.start()
    try:
        yield sitting
    finally:
        await sitting.watcher.stop()


def _like_vim(path: Path, text: str) -> None:
    backup = path.with_name(path.name + "~")
    path.rename(backup)
    path.write_text(text)
    path.chmod(0o644)
    backup.unlink()


def _like_vim_with_backup_folder(path: Path, text: str) -> None:
    folder = path.parent.parent / "backups"
    folder.mkdir(exist_ok=True)
    path.rename(folder / path.name)
    path.write_text(text)


def _delete_and_create(path: Path, text: str) -> None:
    path.unlink()
    path.write_text(text)


def _moved_in(path: Path, text: str) -> None:
    outside = path.parent.parent / "outside.py"
    outside.write_text(text)
    outside.replace(path)


def _hard_link(path: Path, text: str) -> None:
    other = path.with_name("other")
    other.write_text(text)
    path.unlink()
    path.hardlink_to(other)
    other.unlink()


def _real_vim(path: Path, text: str) -> None:
    command = ["vim", "-u", "NONE", "-i", "NONE", "-n", "-es", "-c", f"%s/.*/{text}/", "-c", "wq", str(path)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL, timeout=PATIENCE)


STYLES: dict[str, Callable[[Path, str], None]] = {
    "in place": in_place,
    "pkwb's own": write_atomic,
    "vim, backup beside": _like_vim,
    "vim, backup elsewhere": _like_vim_with_backup_folder,
    "delete and create": _delete_and_create,
    "moved in": _moved_in,
    "hard link": _hard_link,
}


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    """A working file in a folder of its own."""
    path = tmp_path / "solutions" / "kernel.py"
    path.parent.mkdir()
    path.write_text("start")
    return path


@pytest.mark.parametrize("mode", ["notify", "poll"])
@pytest.mark.parametrize("style", STYLES, ids=list(STYLES))
async def test_every_style_of_saving_is_seen_again_and_again(kernel: Path, style: str, mode: str) -> None:
    """Three saves in a row are seen, whichever way an editor writes."""
    async with _watching(kernel, mode, NEVER if mode == "notify" else 0.05) as sitting:
        for number in range(3):
            STYLES[style](kernel, f"save {number}")
            await sitting.sees(f"save {number}")
        assert [event.mode for event in sitting.modes] == [mode]


@pytest.mark.skipif(shutil.which("vim") is None, reason="needs vim")
async def test_saves_from_vim_itself(kernel: Path) -> None:
    """A save from vim with its default options is seen."""
    async with _watching(kernel, "notify", NEVER) as sitting:
        for number in range(3):
            await asyncio.to_thread(_real_vim, kernel, f"save {number}")
            await sitting.until(lambda text=f"save {number}": sitting.contents[-1:] == [text + "\n"])


async def test_200_saves_none_lost(kernel: Path) -> None:
    """Each of 200 saves, half in place and half by rename, is seen; threads and descriptors do not grow."""
    async with _watching(kernel, "notify", NEVER) as sitting:
        await _save_and_see(sitting, 0)
        before = _held()
        for number in range(1, 201):
            await _save_and_see(sitting, number)
        assert _held() == before
    assert sitting.contents[-1] == "save 200"


async def _save_and_see(sitting: Sitting, number: int) -> None:
    (write_atomic if number % 2 else in_place)(sitting.path, f"save {number}")
    await sitting.sees(f"save {number}")


async def test_last_of_a_burst_is_seen(kernel: Path) -> None:
    """Of saves faster than anybody can judge them, the last one is seen, and fewer reports than saves come."""
    async with _watching(kernel, "notify", NEVER) as sitting:
        for number in range(100):
            write_atomic(kernel, f"save {number}")
        await sitting.sees("save 99")
    assert len(sitting.contents) < 100


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells when a writer is done")
async def test_no_half_file_is_reported(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is written in pieces is reported when its writer closes it, not before."""
    monkeypatch.setattr(watch, "SETTLE", NEVER)
    monkeypatch.setattr(watch, "LONGEST", NEVER)
    async with _watching(kernel, "notify", NEVER) as sitting:
        with kernel.open("w") as file:
            for _ in range(5):
                file.write("part ")
                file.flush()
                await asyncio.sleep(0)
        await sitting.sees("part " * 5)
    assert set(sitting.contents) == {"part " * 5}


async def test_writer_that_keeps_the_file_open(kernel: Path) -> None:
    """What a program has written is reported though it never closes the file."""
    async with _watching(kernel, "notify", NEVER) as sitting:
        with kernel.open("w") as file:
            file.write("still open")
            file.flush()
            await sitting.sees("still open")


async def test_touch_and_equal_content_are_told(kernel: Path) -> None:
    """A save without a change is reported too: whether to run again is decided by the content."""
    async with _watching(kernel, "notify") as sitting:
        kernel.write_text("start")
        await sitting.until(lambda: len(sitting.contents) >= 1)
        seen = len(sitting.contents)
        os.utime(kernel, (1, 1))
        await sitting.until(lambda: len(sitting.contents) > seen)
    assert set(sitting.contents) == {"start"}


async def test_other_files_and_readers_are_not_told(kernel: Path) -> None:
    """Swap files, backups, neighbours and readers of the file cause nothing."""
    async with _watching(kernel, "notify", NEVER) as sitting:
        for name in ("kernel.py~", ".kernel.py.swp", "4913", "kernel.py.bak"):
            kernel.with_name(name).write_text("noise")
        kernel.read_text()
        kernel.write_text("the save")
        await sitting.sees("the save")
    assert sitting.contents == ["the save"]


@pytest.mark.parametrize("leave", [shutil.rmtree, lambda folder: folder.rename(folder.with_name("away"))])
async def test_folder_vanishes_and_comes_back(kernel: Path, leave: Callable[[Path], None]) -> None:
    """When the folder is removed or renamed the user is told, and saves are seen again once it is back."""
    async with _watching(kernel, "notify") as sitting:
        leave(kernel.parent)
        await sitting.until(lambda: sitting.modes[-1].reason == "the folder is gone; looking for it")
        kernel.parent.mkdir()
        kernel.write_text("back")
        await sitting.sees("back")
        await sitting.until(lambda: sitting.modes[-1].mode == "notify")
        write_atomic(kernel, "again")
        await sitting.sees("again")
    assert [event.mode for event in sitting.modes] == ["notify", "poll", "notify"]


async def test_file_vanishes_and_comes_back(kernel: Path) -> None:
    """A file that is gone for more than a moment is told, and so is that it is back."""
    async with _watching(kernel, "notify") as sitting:
        kernel.unlink()
        await sitting.until(lambda: sitting.modes[-1].gone)
        kernel.write_text("back")
        await sitting.sees("back")
        await sitting.until(lambda: not sitting.modes[-1].gone)
    assert [event.mode for event in sitting.modes] == ["notify"] * 3


async def test_file_that_does_not_exist_yet(tmp_path: Path) -> None:
    """A file that is created later, its folder too, is seen then."""
    path = tmp_path / "later" / "kernel.py"
    async with _watching(path, "auto") as sitting:
        path.parent.mkdir()
        path.write_text("here")
        await sitting.sees("here")


async def test_link_to_a_file_elsewhere(kernel: Path, tmp_path: Path) -> None:
    """A working file that is a symbolic link is watched where it points to."""
    link = tmp_path / "link.py"
    link.symlink_to(kernel)
    async with _watching(link, "notify") as sitting:
        kernel.write_text("through the target")
        await sitting.sees("through the target")
        write_atomic(link, "through the link")
        await sitting.sees("through the link")


async def test_folder_behind_a_link(kernel: Path, tmp_path: Path) -> None:
    """A folder that is reached over a symbolic link is watched."""
    (tmp_path / "short").symlink_to(kernel.parent)
    async with _watching(tmp_path / "short" / "kernel.py", "notify") as sitting:
        write_atomic(kernel, "save")
        await sitting.sees("save")


async def test_network_file_system_is_polled(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a network file system the watcher polls, says why, and sees saves."""
    monkeypatch.setattr(lookout, "network_filesystem", lambda path: "nfs4")
    async with _watching(kernel, "auto") as sitting:
        kernel.write_text("from another host")
        await sitting.sees("from another host")
    assert [(event.mode, event.reason) for event in sitting.modes] == [("poll", "nfs4 is a network file system")]


async def test_reached_limit_of_watches_falls_back_to_polling(kernel: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the system refuses another watch, the watcher polls, says why, and sees saves."""
    from workbench.flow import notify

    def refuse(self: notify.Notifier) -> None:
        self.stop()
        raise OSError(errno.ENOSPC, "inotify watch limit reached")

    monkeypatch.setattr(notify.Notifier, "start", refuse)
    async with _watching(kernel, "notify") as sitting:
        kernel.write_text("save")
        await sitting.sees("save")
    (event,) = sitting.modes
    assert (event.mode, event.path) == ("poll", str(kernel))
    assert event.reason == "the system refuses to watch: inotify watch limit reached"


@pytest.mark.parametrize("mode", ["notify", "poll"])
async def test_nothing_is_left_after_stop(kernel: Path, mode: str) -> None:
    """Twenty sittings leave no thread and no descriptor, and nothing is reported after the end."""
    async with _watching(kernel, mode):
        pass
    before = _held()
    for _ in range(20):
        async with _watching(kernel, mode) as sitting:
            kernel.write_text("save")
    assert _held() == before
    reports = len(sitting.contents)
    kernel.write_text("after the end")
    await asyncio.sleep(0)
    assert len(sitting.contents) == reports


async def test_stop_twice_and_without_start(kernel: Path) -> None:
    """Stopping is safe at any time."""
    threads = threading.active_count()
    sitting = Sitting(kernel, "notify", NEVER)
    await sitting.watcher.stop()
    await sitting.watcher.start()
    await sitting.watcher.start()
    await sitting.watcher.stop()
    await sitting.watcher.stop()
    assert threading.active_count() == threads


def test_importing_the_watcher_leaves_watchdog_alone() -> None:
    """The first screen does not wait for watchdog: it is loaded when the watch starts."""
    code = "import sys, workbench.flow.watch; sys.exit('watchdog' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def _held() -> tuple[int, int]:
    """Threads and descriptors of this process."""
    folder = "/proc/self/fd" if sys.platform == "linux" else "/dev/fd"
    return threading.active_count(), len(os.listdir(folder))
