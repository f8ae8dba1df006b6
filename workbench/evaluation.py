"""Attempts without a screen: one or more files on one target, over the same flow as the workbench."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from workbench.config import Settings
from workbench.events import Event, EventStream, Verdict
from workbench.stopping import on_stop
from workbench.stores import open_store
from workbench.target import Source, Target

if TYPE_CHECKING:
    from workbench.flow.engine import Engine


class Evaluation:
    """Attempts from the first submission to the last verdict, in an event loop of their own.

    ``show`` gets every event; ``late`` those that come after the last verdict.
    """

    def __init__(
        self, target: Target, settings: Settings, show: Callable[[Event], None], late: Callable[[Event], None]
    ) -> None:
        self._target, self._settings = target, settings
        self._show, self._late = show, late
        self._stream = EventStream()
        self._gone: OSError | None = None
        self._left = 0
        self._judging: asyncio.Task[None] | None = None

    async def run(self, sources: Sequence[Source]) -> list[Verdict] | None:
        """The verdicts in order; None when interrupted. No rank is left when it returns.

        Raises OSError, after the ranks are gone, when what ``show`` prints cannot be written.
        """
        from sessions.recorder import Recorder
        from workbench.flow.engine import Engine

        self._left = len(sources)
        self._stream.subscribe(self._on_event)
        engine = Engine(self._target, self._settings, self._stream)
        store = await asyncio.to_thread(open_store, self._settings)
        recorder = Recorder(store, self._target, self._stream)
        verdicts: list[Verdict] = []
        self._judging = asyncio.create_task(self._judge(engine, recorder.remember, sources, verdicts))
        on_stop(self._stop)
        try:
            await self._judging
        except asyncio.CancelledError:
            return None
        finally:
            await engine.close()
            await recorder.close()
            store.close()
            if self._gone is not None:
                raise self._gone
        return verdicts

    async def _judge(
        self,
        engine: Engine,
        remember: Callable[[Source], None],
        sources: Sequence[Source],
        verdicts: list[Verdict],
    ) -> None:
        await engine.start()
        for source in sources:
            remember(source)
            engine.submit(source, "eval")
            verdict = await engine.wait()
            assert verdict is not None
            verdicts.append(verdict)

    def _stop(self) -> None:
        if self._judging is not None:
            self._judging.cancel()

    def _on_event(self, event: Event) -> None:
        if self._gone is not None:
            return
        try:
            (self._show if self._left > 0 else self._late)(event)
        except OSError as error:
            # Raised here it would end up in the engine; it waits until the ranks are gone.
            self._gone = error
            self._stop()
        self._left -= isinstance(event, Verdict)
