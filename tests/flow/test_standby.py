"""Warm sets stand by: how many, when they start, and what happens to those that die or do not start."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
import pytest_asyncio

from tests.flow.sitting import Sitting
from workbench.errors import RanksError
from workbench.flow.sets import CandidateSet
from workbench.flow.standby import Standby


class FakeSet:
    """A set that is ready when the test says so."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.exits: dict[int, Any] = {}
        self.killed = False

    def kill(self) -> None:
        """End it."""
        self.killed = True


class Starter:
    """Starts fake sets; each waits for ``gate``."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.started: list[FakeSet] = []
        self.error: Exception | None = None

    async def start(self) -> CandidateSet:
        """One set, or the error that is set."""
        self.started.append(FakeSet(len(self.started)))
        found = self.started[-1]
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        return cast(CandidateSet, found)


@pytest_asyncio.fixture
async def starter() -> AsyncIterator[Starter]:
    """A starter whose sets are ready at once."""
    found = Starter()
    found.gate.set()
    yield found


async def _number(standby: Standby) -> int:
    return cast(FakeSet, await standby.take()).number


@pytest.mark.asyncio
async def test_two_saves_in_a_row_find_warm_sets(starter: Starter) -> None:
    """With two sets standing by, a save during the timing of the one before it waits for nothing."""
    standby = Standby(starter.start, 2)
    standby.keep()
    await standby.settled()
    starter.gate.clear()

    assert (await _number(standby), await _number(standby)) == (0, 1)
    await standby.end()


@pytest.mark.asyncio
async def test_sets_start_one_after_the_other(starter: Starter) -> None:
    """The first set does not share the machine with the start of the second."""
    starter.gate.clear()
    standby = Standby(starter.start, 2)
    standby.keep()
    await asyncio.sleep(0)
    alone = len(starter.started)
    starter.gate.set()
    await standby.settled()

    assert (alone, len(starter.started), standby.ready) == (1, 2, True)
    await standby.end()


@pytest.mark.asyncio
async def test_nothing_starts_while_calls_are_timed_where_a_set_is_left(starter: Starter) -> None:
    """With one of two sets left, timing begins without a start; with none left, it waits for one."""
    two, one = Standby(starter.start, 2), Standby(starter.start, 1)
    for standby in (two, one):
        standby.keep()
        await standby.settled()
        await standby.take()
    before = len(starter.started)
    await two.settled()
    after_two = len(starter.started)
    await one.settled()

    assert (before, after_two, len(starter.started)) == (3, 3, 4)
    await two.end()
    await one.end()


@pytest.mark.asyncio
async def test_a_set_that_died_is_replaced(starter: Starter) -> None:
    """A set that died while it stood by is ended and the next one taken; when all have died, that is told."""
    standby = Standby(starter.start, 1)
    standby.keep()
    await standby.settled()
    starter.started[0].exits[0] = {}

    assert await _number(standby) == 1
    assert starter.started[0].killed
    await standby.end()


@pytest.mark.asyncio
async def test_sets_that_keep_dying_are_an_error() -> None:
    """Ranks that die each time while they stand by are pkwb's failure, not the kernel's."""

    async def start() -> CandidateSet:
        dead = FakeSet(0)
        dead.exits[0] = {}
        return cast(CandidateSet, dead)

    with pytest.raises(RanksError, match="died while they stood by"):
        await Standby(start, 2).take()


@pytest.mark.asyncio
async def test_an_error_of_a_start_does_not_stick(starter: Starter) -> None:
    """What kept a set from starting is told once; the next one is started anew."""
    starter.error = OSError("no more processes")
    standby = Standby(starter.start, 1)
    with pytest.raises(OSError, match="no more processes"):
        await standby.take()
    starter.error = None

    assert await _number(standby) == 1
    await standby.end()


@pytest.mark.asyncio
async def test_the_end_ends_all(starter: Starter) -> None:
    """Sets that stand by are ended with the sitting, those on their way are not waited for."""
    standby = Standby(starter.start, 2)
    standby.keep()
    await standby.settled()
    await standby.take()
    starter.gate.clear()
    standby.keep()
    await standby.end()

    assert (starter.started[1].killed, standby.ready) == (True, False)


def test_an_engine_tells_when_its_ranks_are_warm() -> None:
    """The next ranks stand by some time after the start, not at once; then the next save finds them warm."""
    sitting = Sitting("1")
    at_once = sitting.engine.standing_by
    sitting.until(lambda: sitting.engine.standing_by)
    sitting.close()
    assert (at_once, sitting.engine.standing_by) == (False, False)
