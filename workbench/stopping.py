"""Signals that ask a command without a screen to stop, as cancellation of what it awaits."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_T = TypeVar("_T")


def on_stop(stop: Callable[[], object]) -> None:
    """Have the running loop call ``stop`` on SIGINT, SIGTERM and SIGHUP, also where a shell had SIGINT ignored."""
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop)


async def unless_stopped(work: Coroutine[Any, Any, _T]) -> _T | None:
    """The result of ``work``; None when a signal stopped it, after it has cleaned up."""
    task = asyncio.ensure_future(work)
    on_stop(task.cancel)
    try:
        return await task
    except asyncio.CancelledError:
        return None
