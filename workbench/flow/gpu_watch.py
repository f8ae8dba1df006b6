"""Looks at the ranks' GPUs right before and right after a timing: foreign processes, and clocks that were held down."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from workbench.aside import Aside
from workbench.errors import UsageError
from workbench.topology.chosen import RankGpu, rank_gpus
from workbench.topology.holders import PROC, Holder, foreign, holders
from workbench.topology.nvml import close_nvml, open_nvml
from workbench.topology.throttle import Throttle, read_throttle, throttle_flags

_LARGE = 2_000_000_000
"""Bytes from which a process on a GPU is likely to work there; a desktop or an idle context has less."""


class GpuWatch:
    """Flags for the timings of a sitting on the GPUs of ranks 0 to ``world`` - 1; world 0 asks nothing.

    A look takes milliseconds of the driver's time, in a thread: none may be under way while a sample is taken. What
    cannot be asked gives no flag.
    """

    def __init__(self, world: int, proc: Path = PROC) -> None:
        self._world = world
        self._proc = proc
        self._aside = Aside()
        self._nvml: Any = None
        self._gpus: list[RankGpu] = []
        self._before: Sequence[Throttle | None] = ()

    async def before(self) -> tuple[str, ...]:
        """Call with nothing timed yet. ``shared-gpu (rank 1: pid 7 (ann, python) 12.3 GB)`` where others are there."""
        return await self._asked(self._look_before)

    async def after(self) -> tuple[str, ...]:
        """Call after the last sample. ``throttled (power 12%, rank 1)`` where they were held down since then."""
        return await self._asked(self._look_after)

    def close(self) -> None:
        """Leave NVML; the next ``before`` opens it again."""
        if not self._aside.busy:
            nvml, self._nvml = self._nvml, None
            self._leave()
            if nvml is not None:
                self._aside.leave(partial(close_nvml, nvml))

    async def _asked(self, look: Callable[[], tuple[str, ...]]) -> tuple[str, ...]:
        """What a look gives; a driver that does not answer is asked no more."""
        if not self._world:
            return ()
        try:
            return await self._aside.run(look)
        except TimeoutError:
            self._world = 0
            return ()

    def _look_before(self) -> tuple[str, ...]:
        if self._nvml is None:
            self._open()
        on_each = [holders(self._nvml, gpu.handle, self._proc) or () for gpu in self._gpus]
        self._before = self._throttles()
        return sharing_flags([foreign(found, os.getpid(), self._proc) for found in on_each])

    def _look_after(self) -> tuple[str, ...]:
        before, self._before = self._before, ()
        return throttle_flags(before, self._throttles()) if before else ()

    def _open(self) -> None:
        try:
            self._nvml = open_nvml("the GPUs cannot be looked at")
            self._gpus = rank_gpus(self._nvml, self._world)
        except UsageError:
            self._give_up()
        except self._nvml.NVMLError:
            self._give_up()

    def _leave(self) -> None:
        if self._nvml is not None:
            close_nvml(self._nvml)
        self._nvml, self._gpus, self._before = None, [], ()

    def _give_up(self) -> None:
        self._leave()
        self._world = 0

    def _throttles(self) -> list[Throttle | None]:
        return [read_throttle(self._nvml, gpu.card) for gpu in self._gpus]


def sharing_flags(found: Sequence[Sequence[Holder]]) -> tuple[str, ...]:
    """A flag for each rank whose GPU others have more than 2 GB on; ``found`` holds the foreign processes by rank."""
    large = (
        (rank, [holder.words for holder in there if (holder.memory_bytes or 0) > _LARGE])
        for rank, there in enumerate(found)
    )
    return tuple(f"shared-gpu (rank {rank}: {', '.join(words)})" for rank, words in large if words)
