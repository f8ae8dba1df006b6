"""Memory that processes share: a growing region for tensors, and slots by which ranks begin timed calls together."""

from __future__ import annotations

import enum
import fcntl
import mmap
import os
import tempfile

_PAGE = mmap.PAGESIZE


def shared_fd(name: str) -> int:
    """A descriptor of new anonymous shared memory, empty; it is gone with its last descriptor.

    On Linux it is sealed against shrinking, so that a rank cannot pull pages away from under the judge's map, and
    against further seals, so that a rank cannot keep the judge from making it grow.
    """
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
        return fd
    fd, path = tempfile.mkstemp(prefix=name)
    os.unlink(path)
    return fd


class Region:
    """A shared file, mapped into this process as far as was asked for: the other side may make it any length."""

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.map: mmap.mmap | None = None

    @property
    def size(self) -> int:
        """Bytes of the file, whoever made it grow."""
        return os.fstat(self.fd).st_size

    def close(self) -> None:
        """Let go of the file; its memory is free once no process and no tensor holds it."""
        self.map = None
        os.close(self.fd)

    def ensure(self, size: int) -> mmap.mmap:
        """Make room for ``size`` bytes and map them, writable. Tensors over an earlier map stay valid."""
        size = max(size, 1)
        if self.size < size:
            os.ftruncate(self.fd, -(-size // _PAGE) * _PAGE)
        if self.map is None or len(self.map) < size:
            self.map = mmap.mmap(self.fd, size)
        return self.map

    def mapped(self, size: int) -> mmap.mmap:
        """Map what is there; ValueError if the file is shorter than ``size`` bytes."""
        if self.size < size:
            msg = f"shared memory of {self.size} bytes where {size} were announced"
            raise ValueError(msg)
        return self.ensure(size)


SLOT = 8
"""64-bit numbers of one rank's slot: a cache line."""


class Field(enum.IntEnum):
    """Places in a rank's slot; the last call's epoch in the first three."""

    ALIGNED = 0
    """The host has arrived."""
    ARRIVED = 1
    """The rank's gate stands on its device."""
    QUEUED = 2
    """The host has queued all work of its call."""
    SHUT_NS = 3
    """How long the gate was shut, in ns and in cycles of its multiprocessor."""
    SHUT_CYCLES = 4
    HELD = 5
    """1 if the gate's patience ended before all hosts had queued their work."""


class Slots:
    """A slot a rank in memory that all ranks of a set, and their devices, share; made before they are forked."""

    def __init__(self, world: int) -> None:
        self.memory = mmap.mmap(-1, -(-world * SLOT * 8 // _PAGE) * _PAGE)
        self.world = world
        self._view = memoryview(self.memory).cast("q")

    def get(self, rank: int, field: Field) -> int:
        """A number of a rank's slot."""
        return self._view[rank * SLOT + field]

    def put(self, rank: int, field: Field, value: int) -> None:
        """Change a number of a rank's slot."""
        self._view[rank * SLOT + field] = value

    def align(self, rank: int, epoch: int) -> None:
        """Wait until every rank has reached ``epoch`` (counting up from 1). Yields the core while it waits."""
        view, yield_core = self._view, os.sched_yield
        self.put(rank, Field.ALIGNED, epoch)
        for other in range(0, self.world * SLOT, SLOT):
            while view[other] < epoch:
                yield_core()
