"""End what ranks left behind when their zygote was killed and could not do it itself.

Everything the zygote forked, however far it went away, still has the zygote's first environment in /proc, and in it the
home that belongs to this sitting alone. Where there is no /proc nothing is found and nothing is ended.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

_ROUNDS = 20


def end_leftovers(home: Path) -> int:
    """Kill all processes that were started with ``home`` as their HOME; the number of them."""
    ended = 0
    for _ in range(_ROUNDS):  # a process may fork while it is looked for
        found = _processes_of(home)
        if not found:
            break
        ended += len(found)
        for pid in found:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
    return ended


def _processes_of(home: Path) -> list[int]:
    mark = b"HOME=" + os.fsencode(home)
    pids = [int(entry.name) for entry in Path("/proc").glob("[0-9]*")] if Path("/proc/self").exists() else []
    return [pid for pid in pids if pid != os.getpid() and mark in _environment(pid)]


def _environment(pid: int) -> list[bytes]:
    """The variables a process was started with; none for one that is gone, waits to be reaped, or is another user's."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
