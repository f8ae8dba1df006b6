"""Recording attempts from the event stream."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sessions.recorder import Recorder
from sessions.store import Store
from tests.sessions.conftest import Stores
from tests.sessions.samples import source, target, verdict
from workbench.events import Event, EventStream, Notice, SourceSeen, Status
from workbench.source import read_source
from workbench.target import Source


class Sitting:
    """A recorder on a working file, and the events it saw and made."""

    def __init__(self, tmp_path: Path, store: Store) -> None:
        self.store, self.stream = store, EventStream()
        self.events: list[Event] = []
        self.stream.subscribe(self.events.append)
        self.file = tmp_path / "solution.py"
        self.history_changed = 0
        self.recorder = Recorder(store, target(path=self.file), self.stream, self._count)

    def _count(self) -> None:
        self.history_changed += 1

    def notices(self) -> list[str]:
        """The texts of all notices."""
        return [event.text for event in self.events if isinstance(event, Notice)]

    def see(self, attempt: int, seen: Source, changed: bool = True) -> None:
        """The event of a save."""
        path = str(self.file)
        digest = seen.digest
        self.stream.emit(
            SourceSeen(attempt=attempt, path=path, digest=digest, changed=changed, origin="disk", time=50.0)
        )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The store's file."""
    return tmp_path / "sessions.sqlite3"


@pytest.mark.parametrize("status", ["ok", "wrong", "hang", "crash", "load-error", "superseded", "cancelled", "infra"])
async def test_every_ending_is_kept(tmp_path: Path, path: Path, status: Status, stores: Stores) -> None:
    """An attempt is kept with its source however it ended."""
    sitting = Sitting(tmp_path, stores(path))
    sitting.file.write_text("x = 1")
    sitting.see(1, read_source(sitting.file))
    sitting.stream.emit(verdict(1, status))
    await sitting.recorder.close()
    (attempt,) = sitting.store.attempts()
    assert (attempt.status, attempt.number, attempt.started, attempt.note) == (status, 1, 50.0, "")
    assert sitting.store.source(attempt.digest) == "x = 1"
    assert (sitting.history_changed, sitting.notices()) == (1, [])


async def test_order_is_kept(tmp_path: Path, stores: Stores) -> None:
    """Attempts that end shortly after one another are kept in the order of their verdicts."""
    sitting = Sitting(tmp_path, stores())
    for number in range(1, 20):
        sitting.recorder.remember(source(f"x = {number}"))
        sitting.see(number, source(f"x = {number}"))
        sitting.stream.emit(verdict(number))
    await sitting.recorder.close()
    assert [attempt.number for attempt in sitting.store.attempts()] == list(range(19, 0, -1))


async def test_text_is_the_judged_one(tmp_path: Path, stores: Stores) -> None:
    """The text kept is the one that was judged, although the file has changed since."""
    sitting = Sitting(tmp_path, stores())
    sitting.recorder.remember(source("judged"))
    sitting.file.write_text("newer")
    sitting.see(1, source("judged"))
    sitting.stream.emit(verdict(1))
    await sitting.recorder.close()
    assert sitting.store.source(sitting.store.attempts()[0].digest) == "judged"


async def test_lost_text_is_said(tmp_path: Path, stores: Stores) -> None:
    """Where the text was gone before it could be read, the attempt says so instead of showing another text."""
    sitting = Sitting(tmp_path, stores())
    sitting.file.write_text("newer")
    sitting.see(1, source("judged"))
    sitting.stream.emit(verdict(1))
    await sitting.recorder.close()
    (attempt,) = sitting.store.attempts()
    assert "changed" in attempt.note
    assert sitting.store.source(attempt.digest) == ""


async def test_touch_is_no_attempt(tmp_path: Path, stores: Stores) -> None:
    """A save without a change leaves no attempt behind."""
    sitting = Sitting(tmp_path, stores())
    sitting.file.write_text("x = 1")
    sitting.see(1, read_source(sitting.file), changed=False)
    sitting.stream.emit(verdict(1))
    await sitting.recorder.close()
    assert sitting.store.attempts() == []


async def test_store_trouble_is_told_once(
    tmp_path: Path, path: Path, monkeypatch: pytest.MonkeyPatch, stores: Stores
) -> None:
    """A store that cannot be written makes one notice; the attempts stay visible."""
    monkeypatch.setattr("sessions.schema.BUSY_SECONDS", 0.05)
    sitting = Sitting(tmp_path, stores(path))
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN EXCLUSIVE")
    for number in (1, 2):
        sitting.recorder.remember(source(f"x = {number}"))
        sitting.see(number, source(f"x = {number}"))
        sitting.stream.emit(verdict(number))
    await sitting.recorder.close()
    blocker.close()
    (text,) = sitting.notices()
    assert "locked" in text
    assert [attempt.number for attempt in sitting.store.attempts()] == [2, 1]


async def test_damaged_store_is_told_at_the_start(tmp_path: Path, path: Path, stores: Stores) -> None:
    """A damaged store is told before the first attempt, with its name."""
    path.write_bytes(b"broken" * 1000)
    sitting = Sitting(tmp_path, stores(path))
    await sitting.recorder.close()
    assert str(path) in sitting.notices()[0]
