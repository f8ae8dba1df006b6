"""Keeps every attempt that ended, off the event loop."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from sessions.model import Proposed
from sessions.store import Store
from workbench.errors import SourceError, StoreError
from workbench.events import Event, EventStream, Notice, SourceSeen, Verdict
from workbench.source import make_source, read_source
from workbench.target import Source, Target


@dataclass(frozen=True)
class _Begun:
    source: Source
    started: float
    note: str = ""
    proposed: Proposed | None = None


class Recorder:
    """Writes each attempt into the store when its verdict arrives; store trouble becomes a Notice, once.

    Made and closed in the event loop that the stream's events arrive in; ``on_recorded`` is called there too.
    """

    def __init__(
        self, store: Store, target: Target, stream: EventStream, on_recorded: Callable[[], None] = lambda: None
    ) -> None:
        self._store, self._target, self._stream = store, target, stream
        self._on_recorded = on_recorded
        self._sources: dict[str, tuple[Source, Proposed | None, str]] = {}
        self._begun: dict[int, _Begun] = {}
        self._jobs: asyncio.Queue[tuple[_Begun, Verdict]] = asyncio.Queue()
        self._told = ""
        self._unsubscribe = stream.subscribe(self._on_event)
        self._worker = asyncio.create_task(self._work())
        self._tell(store.problem_with)

    def remember(self, source: Source, proposed: Proposed | None = None, note: str = "") -> None:
        """Give the text of a source about to be submitted, for the case that the file changes in between.

        ``proposed`` says which proposal of a model it is, ``note`` what else is to be known of it.
        """
        self._sources[source.digest] = (source, proposed, note)

    async def settle(self) -> None:
        """Wait until all that ended is written."""
        await self._jobs.join()

    async def close(self) -> None:
        """Write what is left, then stop listening."""
        self._unsubscribe()
        await self.settle()
        self._worker.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._worker

    def _on_event(self, event: Event) -> None:
        if isinstance(event, SourceSeen) and event.changed and event.attempt:
            self._begun[event.attempt] = self._begin(event)
        elif isinstance(event, Verdict) and event.attempt in self._begun:
            self._jobs.put_nowait((self._begun.pop(event.attempt), event))

    def _begin(self, event: SourceSeen) -> _Begun:
        source, proposed, note = self._sources.pop(event.digest, (None, None, ""))
        if source is None:
            with contextlib.suppress(SourceError):
                source = read_source(self._target.path)
        if source is None or source.digest != event.digest:
            lost = make_source(self._target.path, "")
            return _Begun(lost, event.time, "the file changed before its text could be kept")
        return _Begun(source, event.time, note, proposed)

    async def _work(self) -> None:
        while True:
            begun, verdict = await self._jobs.get()
            try:
                await asyncio.to_thread(self._record, begun, verdict)
            except Exception as error:
                self._tell(f"Attempt {verdict.attempt} could not be kept: {error}")
            finally:
                self._jobs.task_done()
            self._after_record()

    def _record(self, begun: _Begun, verdict: Verdict) -> None:
        # The store keeps the attempt in memory before it raises, and problem_with holds the same text.
        with contextlib.suppress(StoreError):
            self._store.record(self._target, begun.source, verdict, begun.started, begun.note, begun.proposed)

    def _after_record(self) -> None:
        self._tell(self._store.problem_with)
        try:
            self._on_recorded()
        except Exception as error:  # what others make of it must not end the recording
            self._tell(f"An attempt was kept, but not shown: {error}")

    def _tell(self, text: str) -> None:
        if text and text != self._told:
            self._told = text
            self._stream.emit(Notice(severity="warning", text=text))
