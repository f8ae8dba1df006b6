"""Memory shared by processes: it grows, cannot shrink, and its slots hold a rank until all others are there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.ranks.shared import Region, shared_fd

ROOT = Path(__file__).resolve().parents[2]
linux = pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="only Linux can seal shared memory")


@pytest.fixture
def fd() -> Iterator[int]:
    """New shared memory."""
    made = shared_fd("test")
    yield made
    os.close(made)


def test_a_region_starts_empty_and_grows(fd: int) -> None:
    """Room is made in whole pages, never less than asked for, and never given back."""
    region = Region(fd)
    assert region.size == 0
    assert len(region.ensure(10)) >= 10
    assert len(region.ensure(100_000)) >= 100_000
    assert len(region.ensure(10)) >= 100_000


def test_contents_survive_growth(fd: int) -> None:
    """What was written before the region grew is still there, in old maps and in new ones."""
    region = Region(fd)
    old = region.ensure(10)
    old[:5] = b"hello"
    new = region.ensure(1 << 20)
    assert new[:5] == b"hello"
    new[:5] = b"world"
    assert old[:5] == b"world"


def test_both_sides_see_one_memory(fd: int) -> None:
    """The judge reads what a rank wrote, and follows the region when the rank made it grow."""
    rank, judge = Region(os.dup(fd)), Region(fd)
    rank.ensure(10)[:2] = b"ab"
    assert judge.mapped(10)[:2] == b"ab"
    rank.ensure(1 << 20)[1 << 19] = 7
    assert judge.mapped(1 << 20)[1 << 19] == 7
    os.close(rank.fd)


def test_more_than_there_is_is_refused(fd: int) -> None:
    """A header that announces more bytes than the memory has is an error, and the memory stays as it is."""
    region = Region(fd)
    region.ensure(4096)
    with pytest.raises(ValueError, match="shared memory of 4096 bytes where 4097 were announced"):
        region.mapped(4097)
    assert region.size == 4096


def test_an_empty_region_can_be_mapped(fd: int) -> None:
    """Reading a value without tensors from memory that nobody wrote to works."""
    assert len(Region(fd).mapped(0)) > 0


@linux
def test_memory_cannot_be_pulled_away(fd: int) -> None:
    """A rank cannot shrink the memory under the judge's map, which would kill the judge."""
    Region(fd).ensure(8192)
    with pytest.raises(PermissionError):
        os.ftruncate(fd, 4096)
    assert os.fstat(fd).st_size == 8192


@linux
def test_memory_cannot_be_sealed_by_a_rank(fd: int) -> None:
    """A rank cannot forbid the judge to make its memory grow."""
    import fcntl

    with pytest.raises(PermissionError):
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW)
    assert len(Region(fd).ensure(8192)) >= 8192


ALIGN = """
import os, sys, time
from workbench.ranks.shared import Slots

world, epochs = int(sys.argv[1]), int(sys.argv[2])
slots = Slots(world)
reading, writing = os.pipe()
children = []
for rank in range(world):
    child = os.fork()
    if child == 0:
        for epoch in range(1, epochs + 1):
            os.write(writing, b"%d %d arrives\\n" % (epoch, rank))
            slots.align(rank, epoch)
            os.write(writing, b"%d %d leaves\\n" % (epoch, rank))
        os._exit(0)
    children.append(child)
os.close(writing)
print(open(reading).read(), end="")
sys.exit(max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children))
"""


@pytest.mark.parametrize("world", [1, 2, 5])
def test_ranks_wait_for_each_other(world: int) -> None:
    """No rank leaves an alignment before the last one has arrived, call after call."""
    command = [sys.executable, "-c", ALIGN, str(world), "20"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    arrived = dict.fromkeys(range(1, 21), 0)
    left = dict.fromkeys(range(1, 21), 0)
    for line in done.stdout.splitlines():
        epoch, _rank, what = line.split()
        arrived[int(epoch)] += what == "arrives"
        if what == "leaves":
            left[int(epoch)] += 1
            assert arrived[int(epoch)] == world
    assert set(arrived.values()) == set(left.values()) == {world}
