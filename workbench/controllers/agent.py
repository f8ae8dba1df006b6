"""The agent loop beside the screen: started, paused, steered and stopped by the user."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.config import Settings
from workbench.errors import UsageError
from workbench.events import EventStream
from workbench.target import Target

if TYPE_CHECKING:
    from sessions.solves import Solves
    from workbench.controllers.asking import Client
    from workbench.controllers.proposing import Bench
    from workbench.llm.loop import Solver

_FILE = "The user's file is now this; begin with it:\n\n```python\n{text}\n```"


class AgentLoop:
    """One run of the loop after the other on one desk. ``spent`` tells US dollars that were spent of the budget."""

    def __init__(self, target: Target, settings: Settings, stream: EventStream, spent: Callable[[], float]) -> None:
        self._target, self._settings, self._stream, self._spent = target, settings, stream, spent
        self._solver: Solver | None = None
        self._task: asyncio.Task[None] | None = None
        self._early: list[str] = []
        """Remarks that were made while the loop was being started."""
        self._paused = False
        self.ids: dict[int, int] = {}
        """Ids in the session store of the proposals that its loops made, by the numbers that events give them."""

    @property
    def running(self) -> bool:
        """Whether it runs, is being started, or is paused."""
        return self._task is not None and not self._task.done()

    @property
    def paused(self) -> bool:
        """Whether it waits, or will before its next request."""
        return self._paused

    async def run(self, client: Client, bench: Callable[[], Awaitable[Bench]], text: str, stopped: str = "") -> bool:
        """Run to the end, or go on with the run that was ``stopped``; False where it was stopped.

        ``text`` is the user's file. Errors as in the loop itself.
        """
        self._solver, self._early, self._paused = None, [], False
        task = self._task = asyncio.create_task(self._whole(client, bench, text, stopped))
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        if task.cancelled():
            return False
        task.result()
        return True

    async def _whole(self, client: Client, bench: Callable[[], Awaitable[Bench]], text: str, stopped: str) -> None:
        solver = await self._made(client, await bench(), text, stopped)
        for remark in self._early:
            solver.steer(remark)
        if self._paused:
            solver.pause()
        self._solver = solver
        await solver.run()

    async def _made(self, client: Any, bench: Bench, text: str, stopped: str) -> Solver:
        from problems.starter import starter_text
        from workbench.llm.loop import Solver
        from workbench.llm.prompt import conversation_start

        solves = bench.solves()
        settings = await asyncio.to_thread(self._left, solves, stopped)
        solve = await asyncio.to_thread(solves.solve, stopped) if stopped else None
        start = await asyncio.to_thread(conversation_start, self._target, self._settings)
        solver = Solver(
            target=self._target,
            settings=settings,
            stream=self._stream,
            client=client,
            judging=bench.judging(self._stream),
            solves=solves,
            start=start,
            settle=bench.recorder.settle,
            solve=solve,
            ids=self.ids,
        )
        if text.strip() and text != starter_text(self._target.problem, self._target.backend) and not stopped:
            solver.steer(_FILE.format(text=text.rstrip("\n")))
        return solver

    def _left(self, solves: Solves, stopped: str) -> Settings:
        """The settings with what is left of the budget, of which a run that goes on has spent a part already.

        UsageError where nothing is left.
        """
        from workbench.llm.pair import SPENT

        llm, spent = self._settings.llm, self._spent()
        if not llm.budget_usd:
            return self._settings
        if spent >= llm.budget_usd:
            raise UsageError(SPENT.format(spent=spent, budget=llm.budget_usd))
        own = sum(one.cost or 0.0 for one in solves.proposals(stopped)) if stopped else 0.0
        return replace(self._settings, llm=replace(llm, budget_usd=llm.budget_usd - spent + own))

    def steer(self, remark: str) -> None:
        """Tell the model something with the next request."""
        self._early.append(remark) if self._solver is None else self._solver.steer(remark)

    def toggle(self) -> None:
        """Pause before the next request, or go on."""
        self._paused = not self._paused
        if self._solver is not None:
            self._solver.pause() if self._paused else self._solver.go_on()

    async def stop(self) -> None:
        """Stop at once; what there is is kept, and can be gone on with."""
        task = self._task
        if task is not None and not task.done():
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait({task})
