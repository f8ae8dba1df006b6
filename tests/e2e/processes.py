"""Processes and shared memory as Linux's /proc tells them: who descends from whom, and who is still there."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """One process; ``born`` tells it from a later one with the same id."""

    pid: int
    parent: int
    session: int
    born: str


@dataclass(frozen=True)
class Holdings:
    """What a process and its descendants hold in all."""

    processes: int
    threads: int
    descriptors: int
    memfds: int
    mapped_memfds: int
    shared_files: int
    """Files in /dev/shm, of the whole machine."""
    resident_kb: int
    """Resident memory of the first process alone."""
    ranks_resident_kb: int
    """Resident memory of its descendants, shared pages counted in each."""


def running() -> dict[int, Process]:
    """All processes but those that have ended and only wait for their parent to notice."""
    found = (_read(int(name)) for name in os.listdir("/proc") if name.isdecimal())
    return {process.pid: process for process in found if process is not None}


def _read(pid: int) -> Process | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    state, parent, session, born = fields[0], int(fields[1]), int(fields[3]), fields[19]
    return None if state in "ZX" else Process(pid, parent, session, born)


def descendants(pid: int) -> set[Process]:
    """Everything that a process started, and what those started."""
    everything = running().values()
    found: set[Process] = set()
    parents = {pid}
    while new := {one for one in everything if one.parent in parents and one not in found}:
        found |= new
        parents = {one.pid for one in new}
    return found


def left_of(known: Iterable[Process]) -> set[Process]:
    """Which of these still run, and whoever else runs in one of their sessions."""
    before = set(known)
    sessions = {process.session for process in before if process.session == process.pid}
    return {process for process in running().values() if process in before or process.session in sessions}


def with_argument(word: str) -> list[int]:
    """Ids of the processes that were started with this argument."""
    return [pid for pid in running() if word in arguments(pid)]


def arguments(pid: int) -> list[str]:
    """A process's command line; empty where it has gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except OSError:
        return []


def zygote_of(pid: int) -> int:
    """The id of the process that forks the ranks of a running pkwb."""
    children = [process for process in descendants(pid) if process.parent == pid]
    return next(process.pid for process in children if any("ranks.zygote" in word for word in arguments(process.pid)))


def kill(pid: int) -> None:
    """kill -9."""
    os.kill(pid, signal.SIGKILL)


def holdings(pid: int) -> Holdings:
    """What a process and its descendants hold now."""
    pids = [pid, *(process.pid for process in descendants(pid))]
    links = [link for one in pids for link in _links(one)]
    maps = [line for one in pids for line in _lines(one, "maps")]
    return Holdings(
        processes=len(pids),
        threads=sum(len(_names(one, "task")) for one in pids),
        descriptors=len(links),
        memfds=sum(link.startswith("/memfd:") for link in links),
        mapped_memfds=sum("/memfd:" in line for line in maps),
        shared_files=len(os.listdir("/dev/shm")),
        resident_kb=resident_kb(pid),
        ranks_resident_kb=sum(map(resident_kb, pids[1:])),
    )


def resident_kb(pid: int) -> int:
    """Resident memory of one process; 0 where it has gone."""
    return next((int(line.split()[1]) for line in _lines(pid, "status") if line.startswith("VmRSS:")), 0)


def cpu_seconds(pid: int) -> float:
    """Processor time that one process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _links(pid: int) -> list[str]:
    found = []
    for name in _names(pid, "fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{name}"))
        except OSError:
            continue
    return found


def _names(pid: int, folder: str) -> list[str]:
    try:
        return os.listdir(f"/proc/{pid}/{folder}")
    except OSError:
        return []


def _lines(pid: int, file: str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/{file}").read_text(errors="replace").splitlines()
    except OSError:
        return []
