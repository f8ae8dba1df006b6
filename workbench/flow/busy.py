"""Cores that the candidate's ranks keep busy while the reference is timed, which makes the reference look slow."""

from __future__ import annotations

import contextlib
import ctypes
import time
from collections.abc import Callable, Iterator, Sequence

_LEAST_CORES = 0.5
"""Threads that go to sleep after a call, as those of OpenMP, stay below this."""


class Busy:
    """Adds up over the reference's turns; on CPU ranks, where both sides share the cores."""

    def __init__(self, pids: Sequence[int], cpu_s: Callable[[int], float | None] | None = None) -> None:
        self._pids = pids
        self._cpu_s = cpu_s or process_s
        self._cpu = self._wall = 0.0

    @contextlib.contextmanager
    def reference_runs(self) -> Iterator[None]:
        """Around each turn of the reference; what helper processes do is not seen."""
        before, started = self._spent(), time.monotonic()
        yield
        after, ended = self._spent(), time.monotonic()
        if before is not None and after is not None:
            self._cpu += after - before
            self._wall += ended - started

    def flags(self) -> tuple[str, ...]:
        """``busy (1.9 cores)``; nothing where the system does not tell."""
        cores = self._cpu / self._wall if self._wall else 0.0
        return (f"busy ({cores:.1f} cores)",) if cores > _LEAST_CORES else ()

    def _spent(self) -> float | None:
        spent = [seconds for seconds in map(self._cpu_s, self._pids) if seconds is not None]
        return sum(spent) if len(spent) == len(self._pids) else None


def process_s(pid: int) -> float | None:
    """Seconds of processor time that all threads of a process had so far; None where that is not told."""
    clock = ctypes.c_int()
    try:
        if ctypes.CDLL(None).clock_getcpuclockid(pid, ctypes.byref(clock)):
            return None
        return time.clock_gettime(clock.value)
    except (OSError, AttributeError):
        return None
