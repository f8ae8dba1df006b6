"""A sitting without a screen: the real engine, on CPU ranks unless asked otherwise, driven step by step."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from problems.binding import bind
from problems.loader import find_problem
from problems.model import Problem
from tests.program import RANKS_PYTHON
from workbench.config import Settings
from workbench.events import Event, EventStream, Verdict
from workbench.flow.engine import Engine
from workbench.target import SharedGpus, Source, Target

PATH = Path("/work-in-progress/candidate.py")
"""Where the judged text claims to come from; nothing is there."""

E = TypeVar("E", bound=Event)
T = TypeVar("T")


def source(text: str) -> Source:
    """A source version as a save would give it."""
    return Source(path=PATH, text=text, digest=hashlib.sha256(text.encode()).hexdigest())


def quick_settings(limit: float, full: bool = False, **run: Any) -> Settings:
    """A short limit for loading and for each trial, in seconds, and no timing unless ``samples`` are asked for.

    ``full``: extensions are built in full only.
    """
    settings = Settings()
    return dataclasses.replace(
        settings,
        ranks=dataclasses.replace(settings.ranks, python=RANKS_PYTHON),
        build=dataclasses.replace(settings.build, full=full),
        run=dataclasses.replace(settings.run, **{"samples": 0, "trials": 3, **run}),
        limits=dataclasses.replace(settings.limits, run=limit, stall=limit / 6),
    )


class Sitting:
    """One engine and everything it emitted."""

    patience = 60.0
    """Seconds that a step may take."""

    def __init__(
        self,
        problem: str | Problem,
        world: int = 2,
        dtype: str = "float32",
        limit: float = 3.0,
        *,
        device: str = "cpu",
        shared: SharedGpus | None = None,
        size: str = "smoke",
        full: bool = False,
        **run: Any,
    ) -> None:
        found = find_problem(problem, []) if isinstance(problem, str) else problem
        binding = bind(found, size, world, dtype)
        target = Target(problem=found, binding=binding, backend="pytorch", device=device, path=PATH, shared=shared)
        self.loop = asyncio.new_event_loop()
        self.events: list[Event] = []
        self.stream = EventStream()
        self.stream.subscribe(self.events.append)
        self.engine = self.run(self._engine(target, quick_settings(limit, full, **run)))

    def run(self, step: Coroutine[Any, Any, T]) -> T:
        """Run one step to its end."""
        return self.loop.run_until_complete(asyncio.wait_for(step, self.patience))

    def judge(self, text: str) -> Verdict:
        """Submit a text and wait for its verdict."""
        self.submit(text)
        return self.verdict()

    def submit(self, text: str) -> int:
        """Submit a text; its attempt's number."""
        return self.run(self._submit(text))

    def cancel(self) -> None:
        """Cancel the attempt that runs."""
        self.run(self._cancel())

    def verdict(self) -> Verdict:
        """The verdict of the newest attempt."""
        found = self.run(self.engine.wait())
        assert found is not None
        return found

    def until(self, happened: Callable[[], bool]) -> None:
        """Let the engine run until something has happened."""
        self.run(_poll(happened))

    def of(self, kind: type[E], attempt: int) -> list[E]:
        """The events of one kind that belong to an attempt."""
        return [event for event in self.events if isinstance(event, kind) and event.attempt == attempt]

    def pids(self) -> list[int]:
        """Process ids of the zygote and of all ranks it has now."""
        zygote = self.engine._zygote.pid
        children = Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split()
        return [zygote, *map(int, children)]

    def close(self) -> None:
        """End the engine and its loop."""
        self.run(self.engine.close())
        self.loop.close()

    async def _submit(self, text: str) -> int:
        return self.engine.submit(source(text), "eval")

    async def _cancel(self) -> None:
        self.engine.cancel()

    async def _engine(self, target: Target, settings: Settings) -> Engine:
        engine = Engine(target, settings, self.stream)
        await engine.start()
        return engine


async def _poll(happened: Callable[[], bool]) -> None:
    while not happened():
        await asyncio.sleep(0.005)


def judged_on_gpus(text: str, gpus: int) -> Verdict:
    """The verdict on two ranks of a machine with so many GPUs; they share one where there is no second."""
    shared = SharedGpus(count=1, name="one GPU") if gpus < 2 else None
    sitting = Sitting("1", limit=60.0, device="cuda", shared=shared)
    try:
        return sitting.judge(text)
    finally:
        sitting.close()


def alive(pid: int) -> bool:
    """Whether a process runs; one that waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
