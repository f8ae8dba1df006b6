"""One build that several wait for."""

from __future__ import annotations

import asyncio

import pytest

from workbench.build import sharing
from workbench.build.model import Finding, Result
from workbench.build.sharing import Early, Shared

DONE = Result(name="k", ok=True, way="full")
FOUND = (Finding(severity="error", message="no y"),)


class Work:
    """A build that tells one finding and ends when it is let."""

    def __init__(self) -> None:
        self.may_end = asyncio.Event()
        self.told = asyncio.Event()
        self.ended = asyncio.Event()

    async def make(self, early: Early) -> Result:
        """The build."""
        early(FOUND)
        self.told.set()
        try:
            await self.may_end.wait()
        finally:
            self.ended.set()
        return DONE


async def test_late_joiner_hears_what_was_found() -> None:
    """Who joins a build that runs hears at once what it has found so far."""
    work = Work()
    shared = Shared(work.make)
    await work.told.wait()
    heard: list[tuple[Finding, ...]] = []
    waiting = asyncio.ensure_future(shared.wait(heard.append))
    work.may_end.set()
    assert (await waiting, heard) == (DONE, [FOUND])


async def test_one_leaves_and_another_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build goes on for those who still wait, however long ago another left, and ends when the last one leaves."""
    monkeypatch.setattr(sharing, "GRACE_S", 0.0)
    work = Work()
    shared = Shared(work.make)
    first, second, third = (asyncio.ensure_future(shared.wait(lambda found: None)) for _ in range(3))
    await work.told.wait()
    for waiting, ended in ((first, False), (second, False), (third, True)):
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        for _ in range(5):  # what is due now is done
            await asyncio.sleep(0)
        assert work.ended.is_set() is ended
    assert not shared.open
