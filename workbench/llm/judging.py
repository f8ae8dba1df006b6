"""Judging a proposal with the engine of a sitting, whatever else is judged there meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from sessions.model import Proposed
from workbench.events import Event, EventStream, Origin, Verdict
from workbench.llm.feedback import Collected
from workbench.target import Source

if TYPE_CHECKING:
    from sessions.recorder import Recorder

_TRIES = 3
"""A proposal that a save of the user's superseded is judged again so often."""


class JudgingEngine(Protocol):
    """The part of the engine that judging needs."""

    def submit(self, source: Source, origin: Origin) -> int:
        """Judge a source version; the attempt's number."""

    @property
    def busy(self) -> bool:
        """Whether an attempt runs."""

    async def wait(self) -> Verdict | None:
        """The verdict of the newest attempt."""


class Judging:
    """Judges one source at a time and collects its events."""

    def __init__(self, engine: JudgingEngine, recorder: Recorder, stream: EventStream) -> None:
        self._engine, self._recorder, self._stream = engine, recorder, stream

    async def judge(self, source: Source, proposed: Proposed | None, note: str = "") -> tuple[Verdict, Collected]:
        """The verdict and what was told meanwhile; it is kept in the store as the proposal's attempt, with ``note``."""
        for _ in range(_TRIES):
            verdict, collected = await self._once(source, proposed, note)
            if verdict.status != "superseded":
                break
            await self._idle()
        return verdict, collected

    async def _idle(self) -> None:
        """Wait until nothing runs, also nothing that was begun by another who waited."""
        while self._engine.busy:
            await self._engine.wait()

    async def _once(self, source: Source, proposed: Proposed | None, note: str) -> tuple[Verdict, Collected]:
        done: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        collected, early = Collected(), list[Event]()
        listening = self._stream.subscribe(early.append)
        self._recorder.remember(source, proposed, note)
        number = self._engine.submit(source, "model")
        listening()
        take = _taker(number, collected, done)
        for event in early:
            take(event)
        listening = self._stream.subscribe(take)
        try:
            return await done, collected
        finally:
            listening()


def _taker(number: int, collected: Collected, done: asyncio.Future[Verdict]) -> Callable[[Event], None]:
    """Takes the events of one attempt; its verdict ends the waiting."""

    def take(event: Event) -> None:
        if event.attempt != number:
            return
        collected.take(event)
        if isinstance(event, Verdict) and not done.done():
            done.set_result(event)

    return take
