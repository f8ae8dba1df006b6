"""Runs compilers: each in a process group of its own with limits, ended as a whole when it is cancelled or too slow."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import os
import resource
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from workbench.build.model import Command

JOB_BYTES = 2_500_000_000
"""Memory that one full compile of a CUDA file takes at most, as a rule."""
_LEAST_BYTES = 4_000_000_000
_MOST_OUTPUT = 1 << 20
_BEHIND = 5
"""Niceness, above pkwb's own, of compilers that others go before: a quarter of a core that both want."""


@dataclass(frozen=True)
class Done:
    """How a compiler ended. ``code`` is negative for a signal; ``late``: it was ended at its limit."""

    command: Command
    code: int
    output: str
    seconds: float
    late: bool = False

    @property
    def ok(self) -> bool:
        """Whether it did its work."""
        return self.code == 0 and not self.late


class Slots:
    """As many compilers at a time as cores and free memory allow, at least one."""

    def __init__(self, count: int = 0) -> None:
        self.count = count or parallel_jobs()
        self._semaphore = asyncio.Semaphore(self.count)
        self._nice = 0

    def behind(self) -> Slots:
        """The same room, for compilers that get less of a busy core than the others."""
        found = copy.copy(self)
        found._nice = _BEHIND
        return found

    async def run(self, command: Command, folder: Path, limit: float) -> Done:
        """Run one command in a folder for at most ``limit`` seconds, once there is room for it."""
        async with self._semaphore:
            return await run_command(command, folder, limit, self._nice)


def parallel_jobs() -> int:
    """How many full compiles fit on this machine now."""
    return max(1, min(os.cpu_count() or 1, available_bytes() // JOB_BYTES))


def available_bytes() -> int:
    """Memory that can be had without swapping; all of it where the system does not tell."""
    with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


async def run_command(command: Command, folder: Path, limit: float, nice: int = 0) -> Done:
    """Run one command; nothing of it is left when this returns or is cancelled."""
    started = time.perf_counter()
    try:
        process = await _start(command, folder)
    except OSError as error:
        return Done(command, 127, f"{command.argv[0]} cannot be run: {error.strerror or error}", 0.0)
    _restrain(process.pid, nice)
    late = False
    try:
        output = await asyncio.wait_for(_output_of(process), limit)
    except asyncio.TimeoutError:
        output, late = b"", True
    finally:
        await _end(process)
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    return Done(command, code, output.decode(errors="replace"), time.perf_counter() - started, late)


async def _start(command: Command, folder: Path) -> asyncio.subprocess.Process:
    """Start a command; asyncio, cancelled while it starts one, would end the process and leave its children."""
    starting = asyncio.ensure_future(
        asyncio.create_subprocess_exec(
            *command.argv,
            cwd=folder,
            env={**os.environ, **dict(command.environment)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await _end(await starting)
        raise


async def _output_of(process: asyncio.subprocess.Process) -> bytes:
    """What the process says, its beginning where that is long, until it has ended."""
    assert process.stdout is not None
    kept = bytearray()
    while part := await process.stdout.read(1 << 16):
        kept += part[: _MOST_OUTPUT - len(kept)]
    await process.wait()
    return bytes(kept)


async def _end(process: asyncio.subprocess.Process) -> None:
    """End the whole group, also what a compiler left running."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await asyncio.shield(process.wait())


def _restrain(pid: int, nice: int) -> None:
    """Let a compiler that needs more memory than there is fail by itself, and be the first to go otherwise."""
    if nice:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PGRP, pid, os.getpriority(os.PRIO_PROCESS, 0) + nice)
        with contextlib.suppress(OSError):  # where Linux shares the cores out by session, each compiler is one
            Path(f"/proc/{pid}/autogroup").write_text(str(nice), encoding="ascii")
    if sys.platform != "linux":
        return
    most = max(_LEAST_BYTES, available_bytes())
    with contextlib.suppress(OSError, ValueError):
        resource.prlimit(pid, resource.RLIMIT_AS, (most, most))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text("1000", encoding="ascii")
