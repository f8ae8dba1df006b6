"""Runs: the engine, the session store and the telemetry behind the screen, started after the first paint."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol

from sessions.model import Attempt, Proposed
from workbench.config import Settings
from workbench.errors import PkwbError, StoreError, UsageError
from workbench.events import Event, EventStream, Notice, Origin, PhaseChanged, SourceSeen, Verdict
from workbench.judge.manner import begins_cold, manner
from workbench.target import Source, Target

if TYPE_CHECKING:
    from workbench.build.assembly import Kind
    from workbench.controllers.proposing import Bench

CLOSE_SECONDS = 5.0


class Runner(Protocol):
    """What the app needs of the engine; tests put a scripted one in its place."""

    @property
    def busy(self) -> bool:
        """Whether an attempt runs."""

    async def start(self) -> None:
        """Get ranks ready."""

    def submit(self, source: Source, origin: Origin) -> int:
        """Judge a source; returns the attempt's number."""

    def cancel(self) -> None:
        """Stop the running attempt."""

    async def wait(self) -> Verdict | None:
        """The verdict of the newest attempt, when it is over; None when nothing was submitted."""

    async def kernel_code(self, source: Source, kind: Kind) -> tuple[str, str]:
        """The machine code (``sass``) or PTX (``ptx``) of a source's kernels; and why there is none, where so."""

    async def close(self) -> None:
        """End all ranks."""


RunnerMaker = Callable[[Target, Settings, EventStream], Runner]


def make_engine(target: Target, settings: Settings, stream: EventStream) -> Runner:
    """The real engine; its import waits until the first screen is up."""
    from workbench.flow.engine import Engine

    return Engine(target, settings, stream)


class RunControl:
    """Owns engine, store, recorder and telemetry of a sitting."""

    def __init__(self, target: Target, settings: Settings, stream: EventStream, make: RunnerMaker | None) -> None:
        self._target, self._settings, self._stream = target, settings, stream
        self._make = make
        self._runner: Runner | None = None
        self._starting: Runner | None = None
        """The runner from its making on; ``_runner`` once it takes sources."""
        self._store: Any = None
        self._recorder: Any = None
        self._telemetry: Any = None
        self._waiting: tuple[Source, Origin] | None = None
        self._closed = False
        self._begun = asyncio.Event()
        self._digest = ""
        self.proposed: Callable[[Source], tuple[Proposed | None, str]] = lambda _source: (None, "")
        """Tells which proposal of a model a text is, and a note about it; set by who knows."""
        self.on_history: Callable[[], None] = lambda: None
        """Called when an attempt has been written into the store."""

    @property
    def live(self) -> bool:
        """Whether sources can be judged here at all; a played-back stream cannot."""
        return self._make is not None

    @property
    def busy(self) -> bool:
        """Whether an attempt runs."""
        return self._runner is not None and self._runner.busy

    async def start(self) -> None:
        """Open the store and get the ranks ready, both at once; what was submitted meanwhile runs then."""
        if self._make is None or self._closed:
            return
        runner = self._starting = self._make(self._target, self._settings, self._stream)
        store, trouble = await asyncio.gather(self._open_store(), _attempt(runner.start()))
        if self._is_over():
            await asyncio.to_thread(store.close)
            return
        self._keep_records(store)
        self.on_history()
        self._start_telemetry()
        if trouble is not None:
            self._stream.emit(Notice(severity="error", text=str(trouble)))
        self._runner = runner
        self._begun.set()
        if self._waiting is not None:
            self.submit(*self._waiting)

    def submit(self, source: Source, origin: Origin) -> None:
        """Judge a source, superseding the run in progress; waits for the ranks if they are not ready yet."""
        self._digest = source.digest
        if self._runner is None:
            self._waiting = (source, origin)
            return
        self._waiting = None
        if self._recorder is not None:
            self._recorder.remember(source, *self.proposed(source))
        try:
            self._runner.submit(source, origin)
        except PkwbError as error:
            self._stream.emit(Notice(severity="error", text=str(error)))

    def seen(self, source: Source) -> None:
        """A save that changed nothing: said, with its time, but not run."""
        event = SourceSeen(path=str(source.path), digest=source.digest, changed=False, origin="disk")
        self._stream.emit(event)

    def judged(self, digest: str) -> bool:
        """Whether this content is the one that was submitted last."""
        return digest == self._digest

    def cancel(self) -> bool:
        """Stop the running attempt; False if none runs."""
        if self._runner is None or not self._runner.busy:
            return False
        self._runner.cancel()
        return True

    async def bench(self) -> Bench:
        """Where a model's proposals are judged and kept, when the ranks are there; UsageError in a recording."""
        from workbench.controllers.proposing import Bench

        if not self.live:
            raise UsageError("nothing can be judged here: this is a recording")
        await self._begun.wait()
        return Bench(self._runner, self._recorder, self._store)

    async def kernel_code(self, source: Source, kind: Kind) -> tuple[str, str]:
        """The machine code or PTX of a source's kernels; and why there is none, where so."""
        if self._runner is None:
            return "", "the ranks are still being started"
        return await self._runner.kernel_code(source, kind)

    @property
    def sitting(self) -> str:
        """Name of this sitting in the store."""
        return str(self._store.sitting) if self._store is not None else ""

    async def record(self) -> Attempt | None:
        """The fastest good attempt at the problem under the present conditions, of this or an earlier sitting."""
        if self._store is None:
            return None
        run, device = self._settings.run, self._target.device
        how = manner(run.protocol, run.graph, begins_cold(run.cache, device), device)
        found: Attempt | None = await asyncio.to_thread(self._store.best, self._target.problem.stem, self._target, how)
        return found

    async def attempts(self) -> list[Attempt]:
        """Earlier attempts at this problem, newest first."""
        if self._store is None:
            return []
        found: list[Attempt] = await asyncio.to_thread(self._store.attempts, self._target.problem.stem)
        return found

    async def attempt(self, attempt_id: int) -> tuple[Attempt, str] | None:
        """An earlier attempt with its source."""
        if self._store is None:
            return None
        attempt: Attempt = await asyncio.to_thread(self._store.attempt, attempt_id)
        return attempt, await asyncio.to_thread(self._store.source, attempt.digest)

    async def close(self) -> None:
        """End the ranks, then write what is left; never takes longer than a few seconds."""
        self._closed = True
        parts = [self._starting.close] if self._starting is not None else []
        parts += [part.close for part in (self._recorder,) if part is not None]
        for close in parts:
            await _attempt(asyncio.wait_for(close(), CLOSE_SECONDS))
        if self._telemetry is not None:
            self._telemetry.stop()
        if self._store is not None:
            await asyncio.to_thread(self._store.close)
        self._starting = self._runner = self._recorder = self._store = self._telemetry = None

    async def _open_store(self) -> Any:
        from workbench.stores import open_store

        store = await asyncio.to_thread(open_store, self._settings)
        with contextlib.suppress(StoreError):
            await asyncio.to_thread(store.opened, self._target)
        return store

    def _is_over(self) -> bool:
        return self._closed

    def _keep_records(self, store: Any) -> None:
        from sessions.recorder import Recorder

        self._store = store
        self._recorder = Recorder(store, self._target, self._stream, lambda: self.on_history())

    def _start_telemetry(self) -> None:
        if not self._settings.ui.telemetry:
            return
        from workbench.flow.gpu_loads import GpuLoads
        from workbench.flow.telemetry import TelemetrySampler

        target = self._target
        count = target.shared.count if target.shared else target.world
        gpus = GpuLoads(count) if target.device == "cuda" else None
        self._telemetry = TelemetrySampler(self._stream, self._settings.ui.telemetry, gpus=gpus)
        self._stream.subscribe(self._quiet_while_timing)
        self._telemetry.start()

    def _quiet_while_timing(self, event: Event) -> None:
        if self._telemetry is None:
            return
        if isinstance(event, PhaseChanged) and event.phase == "time":
            self._telemetry.pause() if event.state == "started" else self._telemetry.resume()
        elif isinstance(event, Verdict):
            self._telemetry.resume()


async def _attempt(job: Awaitable[Any]) -> Exception | None:
    """Await a job; the exception it ended with, if any."""
    try:
        await job
    except Exception as error:
        return error
    return None
