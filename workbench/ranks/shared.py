"""Memory that processes share: a growing region for tensors, and the slots on which ranks align before a timed call."""

from __future__ import annotations

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


class Slots:
    """One 64-bit counter a rank in memory that all ranks of a set share; made before they are forked."""

    def __init__(self, world: int) -> None:
        self._map = mmap.mmap(-1, max(_PAGE, world * 64))
        self._view = memoryview(self._map).cast("q")
        self._world = world

    def align(self, rank: int, epoch: int) -> None:
        """Wait until every rank has reached ``epoch`` (counting up from 1). Yields the core while it waits."""
        view, world, yield_core = self._view, self._world, os.sched_yield
        view[rank * 8] = epoch
        for other in range(world):
            while view[other * 8] < epoch:
                yield_core()
