"""The session store: what is kept, and what happens when its file cannot be used."""

from __future__ import annotations

import dataclasses
import os
import signal
import sqlite3
import subprocess
import threading
from pathlib import Path

import pytest

from sessions import schema
from sessions.model import Standing
from sessions.store import Store
from tests.program import script
from tests.sessions.conftest import Stores
from tests.sessions.samples import source, target, verdict
from workbench.errors import StoreError, UsageError
from workbench.events import Ratio, Status

WRITER = """
import sys
from pathlib import Path
from sessions.store import Store
from tests.sessions.samples import source, target, verdict
store = Store.open(Path(sys.argv[1]))
assert not store.problem_with, store.problem_with
for number in range(1, int(sys.argv[2]) + 1):
    print(store.record(target(), source(f"x = {number} # {store.sitting}"), verdict(number), 1.0), flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a store of this test is kept."""
    return tmp_path / "deep" / "sessions.sqlite3"


@pytest.fixture
def store(path: Path, stores: Stores) -> Store:
    """An open store in a file."""
    return stores(path)


def record(store: Store, number: int = 1, text: str = "x = 1", status: Status = "ok", speedup: float = 1.5) -> int:
    """Record one attempt on problem 1."""
    return store.record(target(), source(text), verdict(number, status, speedup), started=100.0 + number)


def test_attempt_comes_back(store: Store) -> None:
    """An attempt comes back with what it was run on and what was measured."""
    attempt = store.attempt(record(store))
    assert (attempt.number, attempt.status, attempt.reason, attempt.started) == (1, "ok", "because", 101.0)
    assert (attempt.problem, attempt.backend, attempt.device) == (target().problem.stem, "pytorch", "cpu")
    assert (attempt.world, attempt.size, attempt.dtype) == (2, "smoke", "bfloat16")
    assert (attempt.candidate_ms, attempt.reference_ms, attempt.gbps) == (2.0, 2.0, 0.5)
    assert attempt.speedup == verdict().speedup


def test_a_speedup_without_an_interval_comes_back(store: Store) -> None:
    """An attempt that was timed too little for an interval is kept with its speedup alone."""
    ratio = Ratio(median=2.46)
    made = store.record(target(), source(), dataclasses.replace(verdict(), speedup=ratio), started=100.0)
    assert store.attempt(made).speedup == ratio
    assert store.verdict(made)["speedup"] == {"median": 2.46, "low": None, "high": None}


def test_source_and_whole_verdict_come_back(store: Store) -> None:
    """The source comes back letter by letter, the verdict with its samples and environment."""
    text = "# größer \r\ndef solution():\n\tpass\x00"
    attempt = store.attempt(record(store, text=text))
    assert store.source(attempt.digest) == text
    kept = store.verdict(attempt.id)
    assert kept["candidate_samples_ms"] == [[2.0, 2.5], [1.5, 2.0]]
    assert kept["environment"] == {"torch": "2"}


def test_attempts_outlive_the_program(path: Path, stores: Stores) -> None:
    """A second sitting sees the attempts of the first, newest first, and can tell them apart."""
    for number in (1, 2):
        store = stores(path)
        record(store, number)
        store.close()
    again = stores(path)
    found = again.attempts()
    assert [attempt.number for attempt in found] == [2, 1]
    assert len({attempt.sitting for attempt in found}) == len(again.sittings()) == 2
    again.close()


def test_attempts_of_one_problem_and_sitting(store: Store) -> None:
    """History can be narrowed to a problem, a sitting and a number of lines."""
    record(store)
    store.record(target("13"), source(), verdict(2), 1.0)
    record(store, 3)
    assert [attempt.number for attempt in store.attempts(target().problem.stem)] == [3, 1]
    assert [attempt.number for attempt in store.attempts(limit=1)] == [3]
    assert len(store.attempts(sitting=store.sitting)) == 3
    assert store.attempts(sitting="another") == []


def test_best_is_the_fastest_ok_attempt(store: Store) -> None:
    """Only ok attempts can be the best one, and the fastest of them is."""
    record(store, 1, speedup=1.2)
    best = record(store, 2, speedup=1.9)
    record(store, 3, status="wrong", speedup=5.0)
    record(store, 4, speedup=1.4)
    found = store.best(target().problem.stem)
    assert found is not None
    assert found.id == best
    assert store.standings() == {found.problem: Standing(found)}
    assert store.best("nothing") is None


def test_best_compares_like_with_like(store: Store) -> None:
    """A best attempt at another size or rank count does not count for this one."""
    store.record(target(world=4), source(), verdict(1, speedup=9.0), 1.0)
    store.record(target(size="default"), source(), verdict(2, speedup=9.0), 1.0)
    here = record(store, 3, speedup=1.1)
    found = store.best(target().problem.stem, like=target())
    assert found is not None
    assert found.id == here


def test_best_compares_like_timing_with_like(store: Store) -> None:
    """An attempt timed by another protocol is named so and does not count as the best for this one."""
    other = dataclasses.replace(verdict(1, speedup=9.0), protocol="pkb", cache="warm")
    store.record(target(), source(), other, 1.0)
    store.record(target(), source(), dataclasses.replace(verdict(2, speedup=1.1), cache="warm"), 2.0)
    stem = target().problem.stem
    usual, by_protocol = store.best(stem, target()), store.best(stem, target(), "protocol pkb")

    assert usual is not None
    assert (usual.number, usual.manner) == (2, "")
    assert by_protocol is not None
    assert (by_protocol.number, by_protocol.manner) == (1, "protocol pkb")


def test_pruning_keeps_the_newest_and_the_best(path: Path, stores: Stores) -> None:
    """Old attempts and their sources go, except the best one of each problem under its own conditions."""
    store = stores(path, keep=3)
    best = record(store, 1, "x = 0", speedup=4.0)
    store.record(target(world=4), source("y = 0"), verdict(2, speedup=1.1), 102.0)
    for number in range(3, 9):
        record(store, number, f"x = {number}")
    assert [attempt.number for attempt in store.attempts()] == [8, 7, 6, 2, 1]
    assert store.source(store.attempt(best).digest) == "x = 0"
    with pytest.raises(UsageError, match="not kept any more"):
        store.source(source("x = 3").digest)
    store.close()


def test_keep_0_drops_nothing(path: Path, stores: Stores) -> None:
    """With sessions.keep = 0 every attempt stays."""
    store = stores(path, keep=0)
    for number in range(1, 6):
        record(store, number)
    assert len(store.attempts()) == 5
    store.close()


def test_unknown_attempt(store: Store) -> None:
    """Asking for an attempt that is not there says how to find those that are."""
    for ask in (store.attempt, store.verdict):
        with pytest.raises(UsageError, match="sessions list"):
            ask(7)


def test_standing_without_success(store: Store) -> None:
    """A problem that nobody solved stands at its newest verdict; attempts that came to none say nothing."""
    for number, status in enumerate(("crash", "wrong", "cancelled", "infra", "superseded", "unknown"), 1):
        store.record(target(), source(), verdict(number, status, speedup=None), float(number))
    store.record(target("13"), source(), verdict(7, "cancelled", speedup=None, problem="13_gemm_allreduce"), 7.0)
    found = store.standings()

    assert found.keys() == {"1_allreduce"}
    best = found["1_allreduce"].best
    assert best is not None
    assert best.status == "wrong"


def test_opened_problems(path: Path, stores: Stores) -> None:
    """When each problem was opened last is known to later sittings, also of those without an attempt."""
    store = stores(path)
    assert store.standings() == {}
    for name in ("1", "13", "1"):
        store.opened(target(name))
    store.close()
    found = stores(path).standings()

    first, second = found["1_allreduce"].opened, found["13_gemm_allreduce"].opened
    assert first is not None
    assert second is not None
    assert first > second


def test_missing_store_is_not_made_by_looking(path: Path, stores: Stores) -> None:
    """Commands that only look leave no file behind."""
    assert stores(path, create=False).attempts() == []
    assert not path.parent.exists()


@pytest.mark.parametrize("content", [b"no database at all" * 100, b"SQLite format 3\x00" + bytes(4096)])
def test_damaged_file_is_named_and_left_alone(tmp_path: Path, content: bytes, stores: Stores) -> None:
    """A file that is no database is named, stays as it is, and work goes on in memory."""
    path = tmp_path / "sessions.sqlite3"
    path.write_bytes(content)
    store = stores(path)
    assert str(path) in store.problem_with
    assert store.attempt(record(store)).number == 1
    store.close()
    assert path.read_bytes() == content


def test_damage_inside_is_found(path: Path, stores: Stores) -> None:
    """Pages overwritten in the middle of the file are noticed before anything is written."""
    store = stores(path)
    for number in range(1, 40):
        record(store, number, f"x = {os.urandom(200).hex()}")
    store.close()
    content = bytearray(path.read_bytes())
    content[4096 : len(content) // 2] = os.urandom(len(content) // 2 - 4096)
    path.write_bytes(content)
    again = stores(path)
    assert "damaged" in again.problem_with
    again.close()
    assert path.read_bytes() == content


def test_newer_store_is_left_alone(path: Path, stores: Stores) -> None:
    """A store written by a newer pkwb is not touched; the message says to update."""
    stores(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    store = stores(path)
    assert "update pkwb" in store.problem_with
    assert record(store) == 1


def test_other_programs_database_is_left_alone(tmp_path: Path, stores: Stores) -> None:
    """A path that points to another program's database gets none of our tables."""
    path = tmp_path / "mail.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE mail (id)")
    connection.commit()
    store = stores(path)
    assert "another program" in store.problem_with
    assert connection.execute("SELECT name FROM sqlite_master").fetchall() == [("mail",)]
    connection.close()


def test_folder_that_cannot_be_made(tmp_path: Path, stores: Stores) -> None:
    """Where the store's folder cannot be made, the sitting goes on in memory with a message."""
    (tmp_path / "file").write_text("")
    store = stores(tmp_path / "file" / "sessions.sqlite3")
    assert "sessions.path" in store.problem_with
    assert record(store) == 1


def test_locked_store_is_told_once(path: Path, monkeypatch: pytest.MonkeyPatch, stores: Stores) -> None:
    """A store locked for too long says so once; that attempt and later ones stay in memory beside the earlier ones."""
    monkeypatch.setattr(schema, "BUSY_SECONDS", 0.05)
    store = stores(path)
    record(store, 1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match="locked"):
        record(store, 2)
    record(store, 3)
    assert [attempt.number for attempt in store.attempts()] == [3, 2, 1]
    assert "locked" in store.problem_with
    other.execute("ROLLBACK")
    other.close()


def test_full_disk(tmp_path: Path, stores: Stores) -> None:
    """On a full disk nothing is lost silently: StoreError once, then memory, and the file is whole."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "none", str(disk)], capture_output=True).returncode:
        pytest.skip("a small file system can be mounted by root only")
    try:
        store = stores(disk / "sessions.sqlite3")
        last = _fill(store)
        assert len(store.attempts(limit=1000)) == last
        assert "full" in store.problem_with
        store.close()
        with_room = stores(disk / "sessions.sqlite3")
        assert not with_room.problem_with
        assert len(with_room.attempts(limit=1000)) == last - 1
        with_room.close()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def _fill(store: Store) -> int:
    with pytest.raises(StoreError, match="full"):
        _record_for_ever(store)
    return store.attempts(limit=1)[0].number


def _record_for_ever(store: Store) -> None:
    for number in range(1, 1000):
        record(store, number, os.urandom(4000).hex())


def test_two_programs_write_at_once(path: Path, tmp_path: Path, stores: Stores) -> None:
    """Several pkwb that start on a new store at once keep all their attempts, under different ids."""
    writers = [script(WRITER, str(path), "25", cwd=tmp_path) for _ in range(3)]
    ids = [line for writer in writers for line in writer.communicate(timeout=60)[0].split()]
    assert [writer.returncode for writer in writers] == [0, 0, 0]
    store = stores(path)
    assert sorted(map(int, ids)) == sorted(attempt.id for attempt in store.attempts(limit=1000))
    assert len(ids) == 75
    store.close()


def test_kill_during_a_write(path: Path, tmp_path: Path, stores: Stores) -> None:
    """After kill -9 in the middle of writing, the store is whole and has every attempt that was said to be kept."""
    writer = script(WRITER, str(path), "100000", cwd=tmp_path)
    assert writer.stdout is not None
    said = [int(writer.stdout.readline()) for _ in range(30)]
    writer.send_signal(signal.SIGKILL)
    said += [int(line) for line in writer.stdout.read().splitlines()]
    writer.stdout.close()
    writer.wait(timeout=10)
    store = stores(path)
    assert not store.problem_with
    kept = store.attempts(limit=-1)
    assert set(said) <= {attempt.id for attempt in kept}
    assert store.source(kept[0].digest).startswith("x = ")
    store.close()


def test_threads(store: Store) -> None:
    """The store can be used from several threads at once."""
    threads = [threading.Thread(target=lambda: [record(store, n) for n in range(1, 11)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.attempts(limit=1000)) == 40


def test_migration_keeps_attempts(path: Path, monkeypatch: pytest.MonkeyPatch, stores: Stores) -> None:
    """A store of an older pkwb is brought up to date with its attempts."""
    store = stores(path)
    record(store)
    store.close()
    added = ("ALTER TABLE attempts ADD COLUMN extra TEXT NOT NULL DEFAULT ''",)
    monkeypatch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, added))
    again = stores(path)
    assert not again.problem_with
    assert record(again, 2) == 2
    assert [attempt.number for attempt in again.attempts()] == [2, 1]
    again.close()


def test_failed_migration_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch, stores: Stores) -> None:
    """A migration that fails half way leaves the store as it was."""
    store = stores(path)
    record(store)
    store.close()
    with monkeypatch.context() as patch:
        patch.setattr(schema, "MIGRATIONS", (*schema.MIGRATIONS, (
            "CREATE TABLE half (id)", "INSERT INTO attempts SELECT * FROM attempts",
        )))  # fmt: skip
        broken = stores(path)
        assert "UNIQUE" in broken.problem_with
        broken.close()
    again = stores(path)
    assert not again.problem_with
    assert [attempt.number for attempt in again.attempts()] == [1]
    again.close()
