"""Calls that may never return: a driver that has lost a GPU can keep whoever asks it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

ANSWER_S = 10.0
"""A driver that wakes up eight GPUs takes some seconds."""
_MOMENT_S = 0.05
"""Usual calls have ended by then."""


class Aside:
    """Runs one call at a time on a thread of its own, for which nothing waits when the program ends."""

    def __init__(self) -> None:
        self._answer: Future[Any] | None = None

    @property
    def busy(self) -> bool:
        """Whether a call has not returned, be it given up or not."""
        return self._answer is not None and not self._answer.done()

    async def run(self, call: Callable[[], T], limit_s: float | None = None) -> T:
        """What a call returns or raises; TimeoutError after ``ANSWER_S`` or another limit, which holds for a call that
        is still under way and for this one."""
        try:
            return await asyncio.wait_for(self._in_turn(call), limit_s or ANSWER_S)
        except asyncio.TimeoutError:  # another class before Python 3.11
            raise TimeoutError(f"no answer within {limit_s or ANSWER_S:g} s") from None

    async def _in_turn(self, call: Callable[[], T]) -> T:
        while self._answer is not None and not self._answer.done():
            await asyncio.wait({asyncio.wrap_future(self._answer)})
        return await asyncio.wrap_future(self._begin(call))

    def wait(self, call: Callable[[], T], limit_s: float | None = None) -> T:
        """The same for callers that may block; TimeoutError at once while one is under way."""
        try:
            return self._begin(call).result(limit_s or ANSWER_S)
        except concurrent.futures.TimeoutError:  # another class before Python 3.11
            raise TimeoutError from None

    def _begin(self, call: Callable[[], T]) -> Future[T]:
        if self.busy:
            raise TimeoutError
        self._answer = answer = Future[T]()
        answer.set_running_or_notify_cancel()  # whoever gives up cannot make it look returned
        threading.Thread(target=_answer, args=(answer, call), name="pkwb-aside", daemon=True).start()
        return answer

    def leave(self, call: Callable[[], object]) -> None:
        """Make a last call without waiting for it, unless one is under way that it would wait for."""
        if not self.busy:
            with contextlib.suppress(concurrent.futures.TimeoutError):
                self._begin(call).result(_MOMENT_S)


def _answer(answer: Future[T], call: Callable[[], T]) -> None:
    try:
        value = call()
    except BaseException as error:
        answer.set_exception(error)
    else:
        answer.set_result(value)
