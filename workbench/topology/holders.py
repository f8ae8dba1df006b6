"""Processes that have memory on a GPU: who they are, and whether pkwb started them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.topology.nvml import answer

PROC = Path("/proc")
_GB = 1e9
_DEEPEST = 100


@dataclass(frozen=True, kw_only=True)
class Holder:
    """A process that has memory on a GPU; ``user`` and ``command`` are empty where it is not visible from here."""

    pid: int
    user: str
    command: str
    memory_bytes: int | None

    @property
    def words(self) -> str:
        """``pid 7 (ann, python) 12.3 GB``."""
        who = f"{self.user}, {self.command}" if self.user else "not visible from here"
        memory = "unknown memory" if self.memory_bytes is None else f"{self.memory_bytes / _GB:.1f} GB"
        return f"pid {self.pid} ({who}) {memory}"


def holders(nvml: Any, handle: Any, proc: Path = PROC) -> tuple[Holder, ...] | None:
    """Who has memory on a GPU for computing; None where NVML does not tell."""
    processes = answer(nvml, None, nvml.nvmlDeviceGetComputeRunningProcesses, handle)
    if processes is None:
        return None
    return tuple(_holder(int(process.pid), process.usedGpuMemory, proc) for process in processes)


def foreign(found: Sequence[Holder], own: int, proc: Path = PROC) -> tuple[Holder, ...]:
    """Those that are neither process ``own`` nor started by it.

    In a container numbers may be those of the host. A process that is not visible therefore counts only beside one of
    ``own``'s, which shows that the numbers are those of here.
    """
    ours = {holder.pid for holder in found if own in _ancestry(holder.pid, proc)}
    return tuple(holder for holder in found if holder.pid not in ours and (holder.user or ours))


def _ancestry(pid: int, proc: Path) -> Iterator[int]:
    """A process and those above it."""
    for _ in range(_DEEPEST):
        yield pid
        try:
            pid = int((proc / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
        if pid <= 0:
            return


def _holder(pid: int, memory: int | None, proc: Path) -> Holder:
    """A process by its number; in a container those of others are not visible."""
    folder = proc / str(pid)
    try:
        user, command = _owner(folder), (folder / "comm").read_text().strip()
    except OSError:
        user = command = ""
    return Holder(pid=pid, user=user, command=command, memory_bytes=memory)


def _owner(folder: Path) -> str:
    try:
        return folder.owner()
    except KeyError:
        return f"user {folder.stat().st_uid}"
