"""One piece of work that several wait for, ended when the last of them gives up."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from workbench.build.model import Finding, Result

Early = Callable[[tuple[Finding, ...]], None]


GRACE_S = 0.5
"""How long work goes on that nobody waits for: a newer save of a file often asks for the same extension again."""


class Shared:
    """A build that runs. ``make`` gets a function that tells all who wait what was found early."""

    def __init__(self, make: Callable[[Early], Coroutine[Any, Any, Result]]) -> None:
        self._listeners: list[Early] = []
        self._told: list[tuple[Finding, ...]] = []
        self._task = asyncio.ensure_future(make(self._tell))
        self._given_up = False

    @property
    def open(self) -> bool:
        """Whether one may still join."""
        return not self._given_up and not self._task.done()

    async def wait(self, early: Early) -> Result:
        """The result; who is cancelled here leaves the others waiting, and the last one ends the work."""
        self._listeners.append(early)
        for found in self._told:
            early(found)
        try:
            return await asyncio.shield(self._task)
        finally:
            self._listeners.remove(early)
            asyncio.get_running_loop().call_later(GRACE_S, self._give_up)

    async def end(self) -> None:
        """End the work at once."""
        self._given_up = True
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def _give_up(self) -> None:
        if not self._listeners and not self._task.done():
            self._given_up = True
            self._task.cancel()

    def _tell(self, found: tuple[Finding, ...]) -> None:
        self._told.append(found)
        for listener in tuple(self._listeners):
            listener(found)
