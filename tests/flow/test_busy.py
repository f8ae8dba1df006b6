"""Candidates whose threads work while the reference is timed are told apart from those that wait for their turn."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from tests.flow.candidates import GOOD, without
from tests.flow.sitting import Sitting
from workbench.flow.busy import Busy, process_s

SPINNING = without(
    "import hashlib, threading\n"
    "def spin():\n"
    "    data = bytes(1 << 20)\n"
    "    while True:\n"
    "        hashlib.sha256(data)\n"
    "for _ in range(4):\n"
    "    threading.Thread(target=spin, daemon=True).start()\n"
    "def solution(tensor):\n"
    "    out = tensor.clone()\n"
    "    dist.all_reduce(out)\n"
    "    return out\n"
)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The monotonic clock, as its only element."""
    now = [0.0]
    monkeypatch.setattr("workbench.flow.busy.time.monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(("used", "flags"), [(0.2, ()), (1.2, ("busy (2.4 cores)",)), (None, ())])
def test_work_of_all_ranks_during_the_turns_counts(
    clock: list[float], used: float | None, flags: tuple[str, ...]
) -> None:
    """Ranks that use 1.2 s each in one second of the reference's turns are busy; what they use in between is theirs."""
    spent = 0.0
    busy = Busy((7, 8), lambda pid: None if used is None else spent)
    for _ in range(2):
        with busy.reference_runs():
            clock[0] += 0.5
            spent += (used or 0.0) / 2
        clock[0] += 10.0
        spent += 10.0
    assert busy.flags() == flags


def test_the_processor_time_of_a_process() -> None:
    """A process's time on processors is told and grows; one that does not exist has none."""
    first = process_s(os.getpid())
    sum(range(10**6))
    second = process_s(os.getpid())
    assert first is not None
    assert second is not None
    assert second > first
    assert process_s(2**22 + 1) is None


@pytest.fixture(scope="module")
def sitting() -> Iterator[Sitting]:
    """One sitting with timing for the whole module."""
    made = Sitting("1", samples=40, trials=1)
    yield made
    made.close()


def test_threads_that_slow_the_reference_are_told(sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
    """A candidate whose threads spin while the reference is timed carries a flag; one that waits does not."""
    waits = sitting.judge(GOOD)
    monkeypatch.setattr("workbench.flow.busy._LEAST_CORES", 0.05)  # what it gets of a machine that others use too
    spins = sitting.judge(SPINNING)
    assert (waits.status, spins.status) == ("ok", "ok")
    assert [any(flag.startswith("busy (") for flag in verdict.flags) for verdict in (waits, spins)] == [False, True]
