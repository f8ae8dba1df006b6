"""Telemetry: honest figures, nothing sent while nothing changes, silence while calls are timed."""

from __future__ import annotations

import asyncio
import itertools
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from workbench import aside
from workbench.events import Event, EventStream, GpuLoad, Notice, Telemetry
from workbench.flow import telemetry
from workbench.flow.telemetry import TelemetrySampler

HZ = 200.0


class Machine:
    """A /proc of our own, the events it led to, and the number of looks taken."""

    def __init__(self, proc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.proc = proc
        self.events: list[Telemetry] = []
        self.looks = 0
        stream = EventStream()
        stream.subscribe(self._take)
        self.sampler = TelemetrySampler(stream, HZ, proc)
        self.set()
        read = telemetry._load

        def counted(folder: Path) -> float:
            self.looks += 1
            return read(folder)

        monkeypatch.setattr(telemetry, "_load", counted)

    def _take(self, event: Event) -> None:
        assert isinstance(event, Telemetry)
        self.events.append(event)

    def set(self, busy: int = 0, idle: int = 0, available: int = 6_000_000, load: str = "0.52") -> None:
        """Write the kernel's files: ticks since the start, free memory in kB, load."""
        (self.proc / "stat").write_text(f"cpu  {busy} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 1 1\n")
        (self.proc / "meminfo").write_text(f"MemTotal:  8000000 kB\nMemFree: 1 kB\nMemAvailable: {available} kB\n")
        (self.proc / "loadavg").write_text(f"{load} 0.4 0.3 1/200 999\n")

    async def looks_again(self, times: int = 1) -> None:
        """Wait until the sampler has looked some more times."""
        goal = self.looks + times

        async def wait() -> None:
            while self.looks < goal:
                await asyncio.sleep(1 / HZ)

        await asyncio.wait_for(wait(), 10)


class SlowGpus:
    """GPUs whose look takes until the test lets it end."""

    def __init__(self) -> None:
        self.asked, self.end = threading.Event(), threading.Event()
        self.closed = False

    def look(self) -> tuple[GpuLoad, ...]:
        """Nothing, late."""
        self.asked.set()
        assert self.end.wait(10)
        return ()

    def forget(self) -> None:
        """No traffic is counted here."""

    def close(self) -> None:
        """Leave them."""
        self.closed = True


async def test_a_look_under_way_is_dropped(tmp_path: Path) -> None:
    """When a timing begins while the GPUs are being asked, what they answer then is not shown."""
    (tmp_path / "stat").write_text("cpu  1 0 0 1 0 0 0 0 0 0\n")
    (tmp_path / "meminfo").write_text("MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\n")
    stream, gpus = EventStream(), SlowGpus()
    events: list[Event] = []
    stream.subscribe(events.append)
    sampler = TelemetrySampler(stream, HZ, tmp_path, cast(Any, gpus))
    sampler.start()
    assert await asyncio.to_thread(gpus.asked.wait, 10)
    asking = sampler._asking
    sampler.pause()
    gpus.end.set()
    assert asking is not None
    await asyncio.wait_for(asking, 10)
    assert events == []
    sampler.stop()


async def test_a_driver_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a look at the GPUs never ends, that is told once, and the processor's figures go on without it."""
    monkeypatch.setattr(aside, "ANSWER_S", 0.01)
    (tmp_path / "meminfo").write_text("MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\n")
    stream, gpus = EventStream(), SlowGpus()
    events: list[Event] = []
    stream.subscribe(events.append)
    sampler = TelemetrySampler(stream, HZ, tmp_path, cast(Any, gpus))
    ticks = itertools.count()

    async def moving() -> None:
        while sum(isinstance(event, Telemetry) for event in events) < 3:
            count = next(ticks)
            (tmp_path / "stat").write_text(f"cpu  {count * (count % 3)} 0 0 {count} 0 0 0 0 0 0\n")
            await asyncio.sleep(1 / HZ)

    await asyncio.to_thread((tmp_path / "stat").write_text, "cpu  1 0 0 1 0 0 0 0 0 0\n")
    sampler.start()
    await asyncio.wait_for(moving(), 20)
    sampler.pause()
    sampler.resume()
    await asyncio.wait_for(moving(), 20)
    sampler.stop()
    assert not gpus.closed  # to leave NVML would wait for the look that never ends
    gpus.end.set()
    assert [event.text for event in events if isinstance(event, Notice)] == [telemetry._SILENT]
    assert all(not event.gpus for event in events if isinstance(event, Telemetry))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine whose figures the test sets."""
    return Machine(tmp_path, monkeypatch)


async def test_figures_by_hand(machine: Machine) -> None:
    """25 busy ticks of 100 are 25%; used memory is what is not available, to 0.1 GB; load has one decimal."""
    machine.sampler.start()
    machine.set(busy=25, idle=75)
    await machine.looks_again()
    machine.sampler.stop()
    event = machine.events[0]
    assert event.cpu_percent == 25.0
    assert (event.memory_used_bytes, event.memory_total_bytes) == (2_000_000_000, 8_192_000_000)
    assert event.load == 0.5


async def test_waiting_for_a_disk_is_idle(machine: Machine) -> None:
    """Of 100 ticks 25 work and 25 wait for a disk: 25% busy, and ticks of a guest are not counted twice."""
    machine.sampler.start()
    (machine.proc / "stat").write_text("cpu  20 0 5 50 25 0 0 0 20 0\n")
    await machine.looks_again()
    machine.sampler.stop()
    assert machine.events[0].cpu_percent == 25.0


async def test_quiet_while_nothing_changes(machine: Machine) -> None:
    """An idle machine sends one event, and the next only when a shown figure changes."""
    machine.sampler.start()
    await machine.looks_again(5)
    assert len(machine.events) == 1
    machine.set(available=5_999_000, load="0.54")
    await machine.looks_again(5)
    assert len(machine.events) == 1
    machine.set(load="1.93")
    await machine.looks_again(2)
    machine.sampler.stop()
    assert [event.load for event in machine.events] == [0.5, 1.9]


async def test_silent_while_paused(machine: Machine) -> None:
    """While calls are timed the sampler does not look; what happened then is not counted afterwards."""
    machine.sampler.start()
    await machine.looks_again()
    machine.sampler.pause()
    looks = machine.looks
    machine.set(busy=1000, idle=0)
    await asyncio.sleep(5 / HZ)
    assert machine.looks == looks
    machine.sampler.resume()
    machine.set(busy=1010, idle=90)
    await machine.looks_again()
    machine.sampler.stop()
    shares = [event.cpu_percent for event in machine.events]
    assert 10.0 in shares
    assert max(shares) == 10.0


async def test_stop_is_final(machine: Machine) -> None:
    """After the end a late resume starts nothing, and stopping again is harmless."""
    machine.sampler.start()
    await machine.looks_again()
    machine.sampler.stop()
    machine.sampler.resume()
    looks = machine.looks
    await asyncio.sleep(5 / HZ)
    machine.sampler.stop()
    assert machine.looks == looks


@pytest.mark.parametrize("damage", ["stat", "meminfo", "both"])
async def test_machine_without_proc(machine: Machine, damage: str) -> None:
    """Where the kernel does not tell, nothing is emitted and nothing fails."""
    for name in ("stat", "meminfo") if damage == "both" else (damage,):
        (machine.proc / name).unlink()
    machine.sampler.start()
    await asyncio.sleep(5 / HZ)
    machine.sampler.stop()
    assert machine.events == []


async def test_switched_off(machine: Machine) -> None:
    """With 0 looks a second there are none."""
    sampler = TelemetrySampler(EventStream(), 0, machine.proc)
    sampler.start()
    await asyncio.sleep(0)
    sampler.stop()
    assert machine.looks == 0
