"""What was built: found again whole, never half, shared by processes, kept small."""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.program import environment
from workbench.build.cache import Cache, Entry

KEY, OTHER = "a" * 64, "b" * 64


def cache(tmp_path: Path, limit: int = 10_000) -> Cache:
    """A cache in a folder that does not exist yet."""
    return Cache(tmp_path / "builds", limit)


def keep(store: Cache, key: str, content: bytes = b"library", headers: tuple[Path, ...] = ()) -> None:
    """Publish a library."""
    with store.workplace() as place:
        built = place / "k.so"
        built.write_bytes(content)
        assert store.publish(key, built, {"name": "k", "made_by": "slim"}, headers) is not None


def age(store: Cache, key: str, seconds: float) -> None:
    """Make an entry look unused for so long."""
    then = time.time() - seconds
    os.utime(store.folder / key, (then, then))


def names(store: Cache) -> list[str]:
    """What lies in the cache's folder."""
    return sorted(path.name for path in store.folder.iterdir())


def test_found_again(tmp_path: Path) -> None:
    """A library is found under its address, with what its maker noted, and cannot be written to."""
    store = cache(tmp_path)
    assert store.find(KEY) is None
    keep(store, KEY)
    entry = store.find(KEY)
    assert entry is not None
    assert (entry.file.read_bytes(), entry.name, entry.made_by) == (b"library", "k", "slim")
    assert entry.file.stat().st_mode & 0o222 == 0
    assert names(store) == [KEY]


DAMAGES = {
    "cut short": lambda file: file.write_bytes(b"lib"),
    "changed": lambda file: file.write_bytes(b"librarY"),
    "gone": lambda file: file.unlink(),
    "no manifest": lambda file: (file.parent / "manifest.json").unlink(),
    "cut manifest": lambda file: (file.parent / "manifest.json").write_text('{"file": "k.so", "si'),
    "strange manifest": lambda file: (file.parent / "manifest.json").write_text("[]"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_library_is_no_library(damage: str, tmp_path: Path) -> None:
    """A library that is not byte for byte what was built is never handed out, and can be built again."""
    store = cache(tmp_path)
    keep(store, KEY)
    file = store.folder / KEY / "k.so"
    file.chmod(0o644)
    DAMAGES[damage](file)
    keep(store, OTHER)
    assert store.find(KEY) is None
    assert names(store) == [OTHER]
    keep(store, KEY)
    assert store.find(KEY) is not None


@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_library_is_in_nobodys_way(damage: str, tmp_path: Path) -> None:
    """A build that never looked takes the place of a damaged library; clearing removes one, too."""
    store = cache(tmp_path)
    for finish in (lambda: keep(store, KEY), store.clear):
        keep(store, KEY)
        file = store.folder / KEY / "k.so"
        file.chmod(0o644)
        DAMAGES[damage](file)
        finish()
        assert (store.find(KEY) is None) == (finish == store.clear)
    assert names(store) == []


def test_file_in_the_place_of_a_library(tmp_path: Path) -> None:
    """What else lies under a library's address gives way to it."""
    store = cache(tmp_path)
    store.folder.mkdir()
    (store.folder / KEY).write_text("no folder")
    (store.folder / OTHER).symlink_to(tmp_path)
    keep(store, KEY)
    keep(store, OTHER)
    assert [entry.key for entry in store.entries()] == [KEY, OTHER]
    assert tmp_path.is_dir()


def test_manifest_cannot_point_elsewhere(tmp_path: Path) -> None:
    """A manifest that names a file outside its folder finds nothing, though that file be the same."""
    store = cache(tmp_path)
    (tmp_path / "other.so").write_bytes(b"library")
    for name in (str(tmp_path / "other.so"), "../../other.so"):
        keep(store, KEY)
        manifest = store.folder / KEY / "manifest.json"
        manifest.write_text(json.dumps({**json.loads(manifest.read_text()), "file": name}))
        assert store.find(KEY) is None


def test_changed_header(tmp_path: Path) -> None:
    """A library is built anew when one of the user's headers in it has changed or is gone."""
    store, header = cache(tmp_path), tmp_path / "mine.h"
    for change in (lambda: header.write_text("2"), header.unlink):
        header.write_text("1")
        keep(store, KEY, headers=(header,))
        assert store.find(KEY) is not None
        change()
        assert store.find(KEY) is None


def test_header_that_is_written_to_during_the_build(tmp_path: Path) -> None:
    """A library whose header changed after its build began is handed out once and not kept for another time."""
    store, header = cache(tmp_path), tmp_path / "mine.h"
    since = time.time() - 1
    header.write_text("2")
    with store.workplace() as place:
        (place / "k.so").write_bytes(b"library")
        assert store.publish(KEY, place / "k.so", {"name": "k"}, (header,), since) is not None
    assert store.find(KEY) is None


def test_pipe_in_the_place_of_a_header(tmp_path: Path) -> None:
    """A header that has become a pipe, which nobody writes to, is a changed header and blocks nothing."""
    store, header = cache(tmp_path), tmp_path / "mine.h"
    header.write_text("1")
    keep(store, KEY, headers=(header,))
    header.unlink()
    os.mkfifo(header)
    assert store.find(KEY) is None


def test_clock_that_was_set_back(tmp_path: Path) -> None:
    """Libraries and left folders that seem to be of tomorrow are removed as any others."""
    store = cache(tmp_path)
    keep(store, KEY, b"0123456789")
    age(store, KEY, -90_000)
    store = cache(tmp_path, limit=5)
    store.prune()
    assert store.entries() == []


def test_least_lately_used_goes_first(tmp_path: Path) -> None:
    """Above the limit the libraries that were used longest ago are removed, and none that was used just now."""
    store = cache(tmp_path)
    for number, key in enumerate(("c" * 64, KEY, OTHER)):
        keep(store, key, b"0123456789")
        age(store, key, 1000 - number)
    store.find("c" * 64)
    store = cache(tmp_path, limit=25)
    store.prune()
    assert [entry.key for entry in store.entries()] == [OTHER, "c" * 64]
    keep(store, "d" * 64, b"0" * 30)
    assert [entry.key for entry in store.entries()] == ["c" * 64, "d" * 64]


def test_clear(tmp_path: Path) -> None:
    """Clearing removes everything and tells how much it was."""
    store = cache(tmp_path)
    keep(store, KEY)
    keep(store, OTHER, b"0123456789")
    assert store.clear() == 17
    assert names(store) == []


def _publish(folder: Path, start: float) -> None:
    store = Cache(folder, 10_000)
    with store.workplace() as place:
        (place / "k.so").write_bytes(b"library")
        while time.time() < start:
            pass
        assert store.publish(KEY, place / "k.so", {"name": "k"}) is not None


def test_two_processes_at_once(tmp_path: Path) -> None:
    """Processes that publish the same library at the same moment all end up with one whole library."""
    start = time.time() + 0.3
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_publish, args=(tmp_path / "builds", start)) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert names(cache(tmp_path)) == [KEY]


KILLED = """
import sys
from pathlib import Path
from workbench.build.cache import Cache
with Cache(Path(sys.argv[1]), 1000).workplace() as place:
    (place / "half.so").write_bytes(b"half")
    print(place, flush=True)
    sys.stdin.read()
"""


def test_killed_builder_leaves_nothing_in_the_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a killed build left is no library and is removed, but never the folder of a build that still runs."""
    store = cache(tmp_path)
    command = [sys.executable, "-c", KILLED, str(store.folder)]
    process = subprocess.Popen(
        command, env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    place = Path(process.stdout.readline().strip())
    late = Cache(store.folder, 1000)
    monkeypatch.setattr("workbench.build.cache._IN_USE_S", -1.0)  # a new folder is left alone for a minute
    late.sweep()
    assert place.exists()
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdin.close()
    process.stdout.close()
    late.sweep()
    assert not place.exists()
    keep(store, KEY)
    assert store.find(KEY) is not None


def test_lock_is_dropped_with_its_process(tmp_path: Path) -> None:
    """A build's lock is the system's own: nobody holds it once the folder is left."""
    store = cache(tmp_path)
    with store.workplace() as place, open(place / ".lock", "rb") as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert names(store) == []


def test_library_that_replaced_a_damaged_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A whole library that another process puts in the place of a damaged one, while that is looked at, stays."""
    store, other = cache(tmp_path), cache(tmp_path)
    keep(store, KEY)
    file = store.folder / KEY / "k.so"
    file.chmod(0o644)
    file.write_bytes(b"librarY")
    look = Cache._whole

    def replaced(self: Cache, key: str) -> Entry | None:
        found = look(self, key)
        if self is store:
            keep(other, KEY)
        return found

    monkeypatch.setattr(Cache, "_whole", replaced)
    store.find(KEY)
    assert other.find(KEY) is not None
