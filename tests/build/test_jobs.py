"""Compiler processes: limits, ends, output."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path

import pytest

from tests.flow.sitting import alive
from workbench.build.jobs import Slots, run_command
from workbench.build.model import Command

FAMILY = Command(argv=("sh", "-c", "sleep 1000 & echo $! > child; mv child pid; wait"), output="")
"""A compiler with a child of its own, whose process id is in the file ``pid``."""


async def there(file: Path) -> int:
    """The number in a file, once it is there."""
    while not file.exists():
        await asyncio.sleep(0.005)
    return int(file.read_text())


async def gone(pid: int) -> bool:
    """Wait until a process is gone."""
    while alive(pid):
        await asyncio.sleep(0.005)
    return True


async def test_limit_ends_the_whole_group(tmp_path: Path) -> None:
    """A compiler that takes too long is ended, with everything that it started."""
    done = await run_command(FAMILY, tmp_path, 0.5)
    assert (done.late, done.ok) == (True, False)
    assert await asyncio.wait_for(gone(await there(tmp_path / "pid")), 10)


async def test_cancel_ends_the_whole_group(tmp_path: Path) -> None:
    """A build that is cancelled leaves no process."""
    job = asyncio.ensure_future(run_command(FAMILY, tmp_path, 100))
    child = await asyncio.wait_for(there(tmp_path / "pid"), 10)
    job.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await job
    assert await asyncio.wait_for(gone(child), 10)


async def test_child_that_stays_behind(tmp_path: Path) -> None:
    """What a compiler leaves running in its group ends with it, though it holds the output open."""
    command = Command(argv=("sh", "-c", "sleep 1000 & echo $! > pid; echo done"), output="")
    done = await asyncio.wait_for(run_command(command, tmp_path, 2.0), 10)
    assert await asyncio.wait_for(gone(await there(tmp_path / "pid")), 10)
    assert done.seconds < 10


async def test_program_that_is_not_there(tmp_path: Path) -> None:
    """A compiler that cannot be run is a failed job that says so."""
    done = await run_command(Command(argv=("/no/such/compiler",), output=""), tmp_path, 5.0)
    assert not done.ok
    assert "/no/such/compiler cannot be run: No such file or directory" in done.output


async def test_flood_of_output_is_cut(tmp_path: Path) -> None:
    """A compiler that prints without end fills no memory: the beginning is kept."""
    command = Command(argv=("sh", "-c", "echo first; head -c 30000000 /dev/zero | tr '\\0' x"), output="")
    done = await run_command(command, tmp_path, 60.0)
    assert done.output.startswith("first\nxxx")
    assert len(done.output) == 1 << 20


async def test_more_memory_than_there_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiler that asks for more memory than is free is refused it and fails by itself."""
    monkeypatch.setattr("workbench.build.jobs._LEAST_BYTES", 1_000_000_000)
    monkeypatch.setattr("workbench.build.jobs.available_bytes", lambda: 0)
    hog = "while [ ! -e go ]; do :; done; exec python3 -c 'x = bytearray(3_000_000_000)'"
    job = asyncio.ensure_future(run_command(Command(argv=("sh", "-c", hog), output=""), tmp_path, 60.0))
    await asyncio.sleep(0.1)
    (tmp_path / "go").touch()
    done = await job
    assert not done.ok
    assert "MemoryError" in done.output


@pytest.mark.skipif(not Path("/proc/self/oom_score_adj").exists(), reason="only Linux chooses whom to end so")
async def test_first_to_go_without_memory(tmp_path: Path) -> None:
    """When memory runs out the system ends a compiler before pkwb, its ranks and everything else."""
    words = 'while [ "$(cat /proc/$$/oom_score_adj)" != 1000 ]; do :; done'
    done = await run_command(Command(argv=("sh", "-c", words), output=""), tmp_path, 30.0)
    assert done.ok


async def test_compilers_that_others_go_before(tmp_path: Path) -> None:
    """A compiler of the full build beside a quick one gives way to it, and to pkwb, where cores are busy."""
    words = f"while [ $(nice) -le {os.nice(0)} ]; do :; done"
    done = await Slots(1).behind().run(Command(argv=("sh", "-c", words), output=""), tmp_path, 30.0)
    assert done.ok


async def test_only_so_many_at_a_time(tmp_path: Path) -> None:
    """No more compilers run at a time than there is room for."""
    slots = Slots(1)
    words = "[ -e busy ] && exit 1; touch busy; sleep 0.05; rm busy"
    jobs = [slots.run(Command(argv=("sh", "-c", words), output=""), tmp_path, 30.0) for _ in range(4)]
    assert all(done.ok for done in await asyncio.gather(*jobs))
