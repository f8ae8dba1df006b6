"""The load of the ranks' GPUs: honest figures, none where the driver has none, silence while calls are timed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import machines
from tests.nvml import FakeGpu, FakeNvml, put_in_place
from workbench.events import Event, EventStream, PeerTraffic, Telemetry
from workbench.flow.gpu_loads import GpuLoads
from workbench.flow.telemetry import TelemetrySampler

HZ = 100.0


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    """A machine of two GPUs."""
    return put_in_place(monkeypatch, FakeNvml([FakeGpu(busy=97, power_mw=512_400), FakeGpu(bus="b")]))


def test_figures_by_hand(nvml: FakeNvml) -> None:
    """Percent as the driver gives them, memory to 0.1 GB, power to 5 W, the clock in MHz; one GPU a rank."""
    first, second = GpuLoads(2).look()
    assert (first.rank, first.busy_percent, first.clock_mhz, first.power_watts) == (0, 97.0, 1980.0, 510.0)
    assert (first.memory_used_bytes, first.memory_total_bytes) == (600_000_000, 144_000_000_000)
    assert (second.rank, second.busy_percent, second.power_watts) == (1, 0.0, 75.0)


def test_only_the_gpus_of_ranks(nvml: FakeNvml) -> None:
    """One rank on a machine of two GPUs has one GPU."""
    assert [load.rank for load in GpuLoads(1).look()] == [0]


def test_link_rate_once_counters_move(nvml: FakeNvml) -> None:
    """1 GiB each way in half a second is 2.1 GB/s; afterwards no traffic is 0, not unknown."""
    loads = GpuLoads(2)
    assert loads.look()[0].sent_gbps is None
    nvml.gpus[0].pass_on(1 << 20, 0.5)
    assert (loads.look()[0].sent_gbps, loads.look()[0].received_gbps) == (2.1, None)
    nvml.gpus[0].pass_on(0, 0.5)
    assert loads.look()[0].sent_gbps == 0.0


def test_counters_that_stand_still_are_not_trusted(nvml: FakeNvml) -> None:
    """Counters that exist and never move give no rate, whatever they read."""
    nvml.gpus[1].sent_kib = 77
    loads = GpuLoads(2)
    for _ in range(3):
        shown = loads.look()
        for gpu in nvml.gpus:
            gpu.at_us += 500_000
    assert [(load.sent_gbps, load.received_gbps) for load in shown] == [(None, None)] * 2


@pytest.mark.parametrize(
    ("make", "worth"),
    [
        (lambda: machines.hopper(2), "still"),
        (lambda: machines.virtual(2), "zero"),
        (machines.guarded, "absent"),
        (machines.split, "no links"),
        (machines.desktop, "no links"),
    ],
    ids=["machine", "virtual machine", "no permission", "instances", "PCIe"],
)
def test_what_counters_are_worth(monkeypatch: pytest.MonkeyPatch, make: Callable[[], FakeNvml], worth: str) -> None:
    """Counters that are there, that read 0, that are not told, and GPUs without NVLinks are told apart."""
    put_in_place(monkeypatch, make())
    loads = GpuLoads(2)
    loads.look()

    assert [load.counters for load in loads.look()] == [worth] * 2


def test_counters_that_move(nvml: FakeNvml) -> None:
    """Once traffic was seen the counters of that GPU are trusted, also while nothing moves."""
    nvml.gpus[0].pass_on(5, 0)
    loads = GpuLoads(2)
    loads.look()
    nvml.gpus[0].pass_on(1 << 20, 0.5)
    loads.look()
    nvml.gpus[0].pass_on(0, 0.5)

    assert [load.counters for load in loads.look()] == ["moving", "zero"]


def test_traffic_of_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a mesh what crosses the links between two GPUs is theirs: 1 GiB in half a second over two links, 2.1 GB/s."""
    nvml = put_in_place(monkeypatch, machines.mesh())
    loads = GpuLoads(4)
    assert [load.peers for load in loads.look()] == [()] * 4
    for link in (4, 5):
        nvml.gpus[0].pass_over(link, 1 << 19)
    for gpu in nvml.gpus:
        gpu.at_us += 500_000
    first, *others = loads.look()

    assert first.sent_gbps == 2.1
    assert first.peers == (PeerTraffic(rank=2, sent_gbps=2.1, received_gbps=2.1),)
    assert [load.peers for load in others] == [()] * 3


def test_only_pairs_of_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links to a GPU without a rank, and to switches, are no pair."""
    for nvml, link in ((machines.mesh(), 11), (machines.hopper(2), 3)):
        put_in_place(monkeypatch, nvml)
        loads = GpuLoads(2)
        loads.look()
        nvml.gpus[0].pass_over(link, 1 << 20)
        nvml.gpus[0].at_us += 500_000
        first = loads.look()[0]
        assert (first.sent_gbps, first.peers) == (2.1, ())


def test_what_holds_the_clocks_down(nvml: FakeNvml) -> None:
    """The reason that the driver gives now: power and heat are named, being idle is none."""
    nvml.gpus[0].reasons = 0x4 | 0x40
    assert [load.held_by for load in GpuLoads(2).look()] == ["power, thermal", ""]


def test_traffic_of_timed_calls_is_not_counted(nvml: FakeNvml) -> None:
    """What crossed the links while calls were timed is not part of the next rate."""
    loads = GpuLoads(2)
    loads.look()
    nvml.gpus[0].pass_on(1 << 30, 1)
    loads.forget()
    assert loads.look()[0].sent_gbps is None
    nvml.gpus[0].pass_on(1 << 20, 1)
    assert loads.look()[0].sent_gbps == 1.1


def test_driver_that_tells_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures that a driver does not tell are absent; the others are there."""
    names = ("UtilizationRates", "PowerUsage", "ClockInfo", "CurrentClocksThrottleReasons")
    unknown = [f"nvmlDeviceGet{name}" for name in names]
    put_in_place(monkeypatch, FakeNvml([FakeGpu(sent_kib=None)], refused=unknown))
    load = GpuLoads(1).look()[0]
    assert (load.busy_percent, load.power_watts, load.clock_mhz, load.sent_gbps) == (None, None, None, None)
    assert load.held_by is None
    assert load.memory_total_bytes == 144_000_000_000


@pytest.mark.parametrize("refused", ["nvmlInit", "nvmlDeviceGetHandleByIndex", "nvmlDeviceGetMemoryInfo"])
def test_gpus_that_cannot_be_looked_at(monkeypatch: pytest.MonkeyPatch, refused: str) -> None:
    """Without permission, or after a GPU is lost, there are no figures and nothing fails; NVML is left in the end."""
    nvml = put_in_place(monkeypatch, FakeNvml([FakeGpu()], refused=[refused]))
    loads = GpuLoads(1)
    assert loads.look() == ()
    assert loads.look() == ()
    loads.close()
    assert nvml.open == 0


def test_a_gpu_that_is_lost_on_the_way(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that stops to answer has no figures from then on; the others keep theirs."""
    healthy = nvml.nvmlDeviceGetMemoryInfo
    loads = GpuLoads(2)
    assert [load.rank for load in loads.look()] == [0, 1]
    lost = nvml.gpus[0]
    monkeypatch.setattr(nvml, "nvmlDeviceGetMemoryInfo", lambda gpu: nvml._refuse() if gpu is lost else healthy(gpu))
    assert [load.rank for load in loads.look()] == [1]


def test_counters_that_jump_back(nvml: FakeNvml) -> None:
    """Counters that begin anew give no rate once, then rates from where they began."""
    loads = GpuLoads(1)
    loads.look()
    nvml.gpus[0].pass_on(1 << 20, 0.5)
    assert loads.look()[0].sent_gbps == 2.1
    nvml.gpus[0].sent_kib = nvml.gpus[0].received_kib = 0
    nvml.gpus[0].pass_on(1 << 10, 0.5)
    back = loads.look()[0]
    assert (back.sent_gbps, back.received_gbps, back.counters) == (None, None, "moving")
    nvml.gpus[0].pass_on(1 << 20, 0.5)
    assert loads.look()[0].sent_gbps == 2.1


class Sitting:
    """A sampler over two GPUs and a /proc of our own, with what it emitted."""

    def __init__(self, proc: Path) -> None:
        (proc / "stat").write_text("cpu  0 0 0 0 0 0 0 0 0 0\n")
        (proc / "meminfo").write_text("MemTotal: 8000000 kB\nMemAvailable: 6000000 kB\n")
        self.events: list[Telemetry] = []
        self.changed = asyncio.Event()
        stream = EventStream()
        stream.subscribe(self._take)
        self.sampler = TelemetrySampler(stream, HZ, proc, GpuLoads(2))

    def _take(self, event: Event) -> None:
        assert isinstance(event, Telemetry)
        self.events.append(event)
        self.changed.set()

    async def next(self) -> Telemetry:
        """The next event that comes."""
        self.changed.clear()
        await asyncio.wait_for(self.changed.wait(), 10)
        return self.events[-1]


async def test_gpus_are_part_of_telemetry(nvml: FakeNvml, tmp_path: Path) -> None:
    """Events carry the GPUs, another comes when one of their figures changes, and none while paused."""
    sitting = Sitting(tmp_path)
    sitting.sampler.start()
    assert [load.busy_percent for load in (await sitting.next()).gpus] == [97.0, 0.0]
    nvml.gpus[1].busy = 40
    assert [load.busy_percent for load in (await sitting.next()).gpus] == [97.0, 40.0]
    sitting.sampler.pause()
    count = len(sitting.events)
    nvml.gpus[1].busy = 50
    await asyncio.sleep(5 / HZ)
    assert len(sitting.events) == count
    sitting.sampler.resume()
    assert (await sitting.next()).gpus[1].busy_percent == 50.0
    sitting.sampler.stop()
    assert nvml.open == 0
