"""Calls that may never return: a driver that has lost a GPU can keep whoever asks it."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")

ANSWER_S = 10.0
"""A driver that wakes up eight GPUs takes some seconds."""


class Aside:
    """Runs one call at a time on a thread of its own, for which nothing waits when the program ends."""

    def __init__(self) -> None:
        self._answer: Future[Any] | None = None

    @property
    def busy(self) -> bool:
        """Whether a call has not returned, be it given up or not."""
        return self._answer is not None and not self._answer.done()

    async def run(self, call: Callable[[], T], limit_s: float | None = None) -> T:
        """What a call returns or raises; TimeoutError after ``ANSWER_S`` or another limit, and at once while one
        is under way."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(self._begin(call)), limit_s or ANSWER_S)
        except asyncio.TimeoutError:  # another class before Python 3.11
            raise TimeoutError from None

    def wait(self, call: Callable[[], T], limit_s: float | None = None) -> T:
        """The same for callers that may block."""
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


def _answer(answer: Future[T], call: Callable[[], T]) -> None:
    try:
        value = call()
    except BaseException as error:
        answer.set_exception(error)
    else:
        answer.set_result(value)
