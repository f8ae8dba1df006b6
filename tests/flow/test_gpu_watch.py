"""What is looked at around a timing: others on the ranks' GPUs, and clocks that were held down."""

from __future__ import annotations

import asyncio
import dataclasses
import getpass
import os
import threading
from pathlib import Path

import pytest

from tests.nvml import FakeNvml, put_in_place, several
from workbench import aside
from workbench.errors import UsageError
from workbench.flow.gpu_watch import GpuWatch
from workbench.topology.nvml import open_nvml
from workbench.topology.throttle import Throttle, throttle_flags

GB = 1_000_000_000


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    """A machine of two GPUs."""
    return put_in_place(monkeypatch, FakeNvml(several(2)))


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    """Processes of our own: 20 is a rank that this one started by way of 10, 30 is somebody else's."""
    for pid, parent in ((10, os.getpid()), (20, 10), (30, 1), (os.getpid(), 1)):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(f"{pid} (a (b) c) S {parent} 0 0")
        (tmp_path / str(pid) / "comm").write_text("python\n")
    return tmp_path


async def timing(watch: GpuWatch, nvml: FakeNvml, held: dict[int, float]) -> tuple[str, ...]:
    """The flags of a timing of 10 s in which the second GPU's clocks are held down, in seconds by policy."""
    flags = await watch.before()
    nvml.gpus[0].hold(0, 0, 10)
    for policy, seconds in (held or {0: 0.0}).items():
        nvml.gpus[1].hold(policy, seconds, 10 / max(1, len(held)))
    return (*flags, *await watch.after())


async def test_a_quiet_timing_has_no_flags(nvml: FakeNvml, proc: Path) -> None:
    """Nobody else there, clocks never held down: nothing to say; NVML is left in the end."""
    nvml.gpus[0].processes = [(20, 3 * GB)]
    watch = GpuWatch(2, proc)

    assert await timing(watch, nvml, {}) == ()
    watch.close()
    assert nvml.open == 0


async def test_clocks_that_were_held_down(nvml: FakeNvml, proc: Path) -> None:
    """The share of the timing during which power or heat held the clocks down is told by cause, with the rank."""
    assert await timing(GpuWatch(2, proc), nvml, {0: 1.2}) == ("throttled (power 12%, rank 1)",)
    both = await timing(GpuWatch(2, proc), nvml, {0: 5.0, 1: 0.3})
    assert both == ("throttled (power 50%, rank 1; thermal 3%, rank 1)",)
    assert await timing(GpuWatch(2, proc), nvml, {1: 0.05}) == ()


async def test_only_what_happened_while_timed_counts(nvml: FakeNvml, proc: Path) -> None:
    """Clocks that were held down before a timing, or between two, are none of its business."""
    watch = GpuWatch(2, proc)
    nvml.gpus[0].hold(0, 100, 100)
    assert await timing(watch, nvml, {}) == ()
    nvml.gpus[0].hold(0, 100, 100)
    assert await watch.after() == ()
    assert await timing(watch, nvml, {}) == ()


async def test_drivers_that_do_not_count(monkeypatch: pytest.MonkeyPatch, proc: Path) -> None:
    """Where the driver keeps no such counters, or NVML cannot be asked, there is no flag and no failure."""
    for refused in ("nvmlDeviceGetViolationStatus", "nvmlInit", "nvmlDeviceGetCount"):
        nvml = put_in_place(monkeypatch, FakeNvml(several(2), refused=[refused]))
        watch = GpuWatch(2, proc)
        assert await timing(watch, nvml, {0: 5.0}) == ()
        watch.close()
        assert nvml.open == 0


async def test_drivers_that_count_in_fields(nvml: FakeNvml, proc: Path) -> None:
    """Where the driver counts by field values alone, those are read: two kinds of thermal slowdown are one cause."""
    for gpu in nvml.gpus:
        gpu.held_ns, gpu.held_fields = {}, {74: 0, 269: 7 * GB, 270: 0}
    watch = GpuWatch(2, proc)
    await watch.before()
    nvml.gpus[1].held_fields = {74: GB // 100, 269: 8 * GB, 270: GB}
    for gpu in nvml.gpus:
        gpu.at_us += 10_000_000

    assert await watch.after() == ("throttled (thermal 20%, rank 1)",)


async def test_drivers_that_tell_a_moment(nvml: FakeNvml, proc: Path) -> None:
    """Where nothing is counted, heat or power that holds clocks down at the end is told as that; settings are not."""
    for gpu in nvml.gpus:
        gpu.held_ns = {}
    nvml.gpus[0].reasons = 0x2 | 0x100
    nvml.gpus[1].reasons = 0x20
    watch = GpuWatch(2, proc)
    await watch.before()

    assert await watch.after() == ("throttled (thermal at its end, rank 1)",)
    assert await watch.after() == ()


async def test_a_driver_that_does_not_answer(nvml: FakeNvml, proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A timing goes on without a driver that never answers, which is asked no more and not left either."""
    monkeypatch.setattr(aside, "ANSWER_S", 0.01)
    end, asked = threading.Event(), []
    monkeypatch.setattr(nvml, "nvmlDeviceGetCount", lambda: asked.append(1) or (end.wait() and 2))
    watch = GpuWatch(2, proc)
    assert (*await watch.before(), *await watch.after(), *await watch.before()) == ()
    watch.close()
    assert (len(asked), nvml.open) == (1, 1)
    end.set()
    while watch._aside.busy:
        await asyncio.sleep(0.001)
    nvml.gpus[0].processes = [(20, GB), (30, 9 * GB)]
    assert await watch.before() == ()


async def test_a_look_that_a_newer_save_cut_off(nvml: FakeNvml, proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A save in the middle of a look costs the next timing none of its flags: it waits for that look."""
    go, asked = threading.Event(), threading.Event()
    monkeypatch.setattr(nvml, "nvmlDeviceGetCount", lambda: asked.set() or (go.wait() and 2))
    nvml.gpus[0].processes = [(20, GB), (30, 9 * GB)]
    watch = GpuWatch(2, proc)
    cut_off = asyncio.ensure_future(watch.before())
    await asyncio.to_thread(asked.wait, 10)
    cut_off.cancel()
    await asyncio.gather(cut_off, return_exceptions=True)
    following = asyncio.ensure_future(watch.before())
    await asyncio.sleep(0)
    go.set()
    assert len(await following) == 1


async def test_a_driver_that_cannot_be_left(nvml: FakeNvml, proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To leave a driver that has died does not hold up the end of a sitting."""
    end, left = threading.Event(), threading.Event()
    monkeypatch.setattr(nvml, "nvmlShutdown", lambda: left.set() or end.wait())
    watch = GpuWatch(2, proc)
    await watch.before()
    watch.close()
    assert left.is_set()
    end.set()


def test_a_driver_that_never_opens(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever needs the driver is told that it does not answer, after a while, instead of waiting for ever."""
    monkeypatch.setattr(aside, "ANSWER_S", 0.01)
    end = threading.Event()
    monkeypatch.setattr(nvml, "nvmlInit", end.wait)
    with pytest.raises(UsageError, match="no figures: the GPUs' driver does not answer"):
        open_nvml("no figures")
    end.set()


async def test_cpu_ranks_ask_nothing(nvml: FakeNvml) -> None:
    """On CPU ranks NVML is not even opened."""
    watch = GpuWatch(0)

    assert (*await watch.before(), *await watch.after()) == ()
    assert nvml.asked == 0


async def test_others_on_a_gpu(nvml: FakeNvml, proc: Path) -> None:
    """Somebody else's process with more than 2 GB is named with its memory; small ones and our ranks are not."""
    nvml.gpus[0].processes = [(20, 9 * GB), (30, GB)]
    nvml.gpus[1].processes = [(20, 9 * GB), (30, 12_300_000_000)]

    flags = await GpuWatch(2, proc).before()
    assert flags == (f"shared-gpu (rank 1: pid 30 ({getpass.getuser()}, python) 12.3 GB)",)


async def test_processes_that_are_not_visible(nvml: FakeNvml, proc: Path) -> None:
    """A number that is not visible here counts only beside one of ours: else it may be one of our ranks, renumbered."""
    nvml.gpus[0].processes = [(777, 9 * GB)]
    nvml.gpus[1].processes = [(20, 9 * GB), (777, 9 * GB)]

    assert await GpuWatch(2, proc).before() == ("shared-gpu (rank 1: pid 777 (not visible from here) 9.0 GB)",)


def test_counters_that_start_anew() -> None:
    """Counters that went back, a clock that stands still and a GPU that came or went give no share."""
    first = Throttle(at_us=1_000_000, spent_ns={"power": 5_000_000})
    later = dataclasses.replace(first, at_us=2_000_000)

    assert throttle_flags([first], [dataclasses.replace(later, spent_ns={"power": 0})]) == ()
    assert throttle_flags([first], [dataclasses.replace(first, spent_ns={"power": 900_000_000})]) == ()
    assert throttle_flags([None, first], [later, None]) == ()
    beyond = dataclasses.replace(later, spent_ns={"power": 9_000_000_000, "thermal": 10**12})
    assert throttle_flags([first], [beyond]) == ("throttled (power 100%, rank 0)",)
