"""Sets of candidate ranks that stand by, warm: one on CPU ranks, two on GPUs.

A set on the CPU is there within some 30 ms, so that the next one starts before anything is timed. On a GPU it takes
more than a second, and would disturb what is timed: there a second set waits for the save that comes while calls are
timed, and what is missing starts when they have been.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from workbench.errors import RanksError
from workbench.flow.sets import CandidateSet

DEPTH = {"cpu": 1, "cuda": 2}
"""Sets that stand by, by device."""

_T = TypeVar("_T")


class Standby:
    """Keeps sets ready; ``start`` makes one. A set is started when the one before it is there."""

    def __init__(self, start: Callable[[], Awaitable[CandidateSet]], depth: int) -> None:
        self._start = start
        self.depth = depth
        self._sets: deque[asyncio.Task[CandidateSet]] = deque()

    @property
    def ready(self) -> bool:
        """Whether all that are kept stand by."""
        return len(self._sets) == self.depth and all(job.done() for job in self._sets)

    def keep(self, count: int = 0) -> None:
        """Have ``count`` sets, at most and by default as many as are kept, standing by or on their way."""
        while len(self._sets) < min(count or self.depth, self.depth):
            self._sets.append(task(self._after(self._sets[-1] if self._sets else None)))

    async def settled(self) -> None:
        """Have at least one set, and wait until none is on its way."""
        self.keep(1)
        await asyncio.wait(list(self._sets))

    async def take(self) -> CandidateSet:
        """The next set, once it is ready; one that died while it waited is replaced.

        RanksError when the replacement has died too, and whatever kept a set from starting.
        """
        for _ in range(self.depth + 1):
            self.keep(1)
            first = self._sets[0]
            try:
                candidates = await asyncio.shield(first)
            finally:
                if first.done() and first in self._sets:
                    self._sets.remove(first)
            if not candidates.exits:
                return candidates
            candidates.kill()
        raise RanksError("candidate ranks died while they stood by")

    async def end(self) -> None:
        """End the sets that stand by, and those on their way."""
        sets, self._sets = list(self._sets), deque()
        for job in sets:
            await ended(job)
            if not job.cancelled() and job.exception() is None:
                job.result().kill()

    async def _after(self, before: asyncio.Task[CandidateSet] | None) -> CandidateSet:
        if before is not None:
            await asyncio.wait([before])
        return await self._start()


def task(job: Coroutine[Any, Any, _T]) -> asyncio.Task[_T]:
    """A task whose error is told by whoever waits for it, and is no news when nobody does."""
    started = asyncio.ensure_future(job)
    started.add_done_callback(lambda done: None if done.cancelled() else done.exception() and None)
    return started


async def ended(job: asyncio.Task[Any] | None) -> None:
    """Cancel a task and wait for its end; what it ended with has been told, or concerns nobody any more."""
    if job is not None:
        job.cancel()
        await asyncio.gather(job, return_exceptions=True)
