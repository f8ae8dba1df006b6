"""A run of a language model without a screen: engine, store, proposer and loop, from the start to the last word."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.config import Settings
from workbench.errors import RanksError
from workbench.events import Event, EventStream, Notice, SolveFinished
from workbench.stopping import on_stop
from workbench.stores import open_store
from workbench.target import Target

if TYPE_CHECKING:
    from sessions.model import Solve
    from sessions.store import Store
    from workbench.flow.engine import Engine
    from workbench.llm.client import ModelClient

_ON_CPU = ("pytorch", "cpp")
_NOT_HERE = (
    "the ranks are CPU processes, on which {backend} can be compiled but not run: the run stops at the first file that "
    "compiles; take a machine with GPUs, or --backend pytorch or cpp"
)


class Solving:
    """One run; ``show`` gets every event. ``remark`` is told to the model first, ``solve`` is a run to go on with."""

    def __init__(
        self,
        target: Target,
        settings: Settings,
        show: Callable[[Event], None],
        remark: str = "",
        solve: Solve | None = None,
    ) -> None:
        self._target, self._settings, self._show = target, settings, show
        self._remark, self._solve = remark, solve
        self._gone: OSError | None = None
        self._work: asyncio.Task[SolveFinished] | None = None
        self._last: SolveFinished | None = None
        self._trouble = False
        self.best = ""
        """The text of the best version, after the run; empty where none is right."""
        self.kept = True
        """Whether the session store's file has it."""

    async def run(self) -> SolveFinished | None:
        """The last word; None when it was interrupted before it began. No process is left when it returns.

        Raises OSError, after all have ended, when what ``show`` prints cannot be written; else as the loop does.
        """
        from workbench.flow.engine import Engine
        from workbench.llm.client import ModelClient

        stream = EventStream()
        stream.subscribe(self._on_event)
        client = ModelClient(self._settings.llm, stream)
        client.warm()
        engine = Engine(self._target, self._settings, stream)
        store = await asyncio.to_thread(open_store, self._settings)
        self._work = asyncio.create_task(self._run(engine, client, store, stream))
        on_stop(self._work.cancel)
        try:
            await self._work
        except asyncio.CancelledError:
            pass
        finally:
            await asyncio.gather(engine.close(), client.close())
            if self._last is not None and self._last.best_digest:
                self.best, self.kept = store.source(self._last.best_digest), store.path is not None
            store.close()
            if self._gone is not None:
                raise self._gone
        return self._last

    async def _run(self, engine: Engine, client: ModelClient, store: Store, stream: EventStream) -> SolveFinished:
        from sessions.recorder import Recorder
        from sessions.solves import Solves
        from workbench.llm.judging import Judging
        from workbench.llm.loop import Solver
        from workbench.llm.prompt import conversation_start

        recorder = Recorder(store, self._target, stream)
        try:
            start = await asyncio.to_thread(conversation_start, self._target, self._settings)
            await engine.start()
            if self._target.device == "cpu" and self._target.backend not in _ON_CPU:
                stream.emit(Notice(severity="warning", text=_NOT_HERE.format(backend=self._target.backend)))
            if self._trouble:
                raise RanksError("no model was asked, since the ranks cannot be started")
            solver = Solver(
                target=self._target,
                settings=self._settings,
                stream=stream,
                client=client,
                judging=Judging(engine, recorder, stream),
                solves=Solves(store),
                start=start,
                settle=recorder.settle,
                solve=self._solve,
            )
            if self._remark:
                solver.steer(self._remark)
            return await solver.run()
        finally:
            await recorder.close()

    def _on_event(self, event: Event) -> None:
        if isinstance(event, SolveFinished):
            self._last = event
        elif isinstance(event, Notice) and event.severity == "error":
            self._trouble = True
        if self._gone is not None:
            return
        try:
            self._show(event)
        except OSError as error:
            # Raised here it would end up in the engine; it waits until all processes are gone.
            self._gone = error
            if self._work is not None:
                self._work.cancel()
