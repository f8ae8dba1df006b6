"""Which GPU a rank has: CUDA_VISIBLE_DEVICES as CUDA reads it, on NVML's side."""

from __future__ import annotations

import pytest

from tests.nvml import FakeGpu, FakeNvml, put_in_place, several
from workbench.devices import BY_BUS
from workbench.errors import UsageError
from workbench.flow.gpu_loads import GpuLoads
from workbench.flow.gpu_watch import GpuWatch
from workbench.flow.zygote import rank_environment
from workbench.topology.chosen import rank_gpus
from workbench.topology.gpu_state import read_counters, read_machine
from workbench.topology.gpus import detect_gpus

FIFTH, SIXTH = "GPU-5c0ffeec0ffee", "GPU-6c0ffeec0ffee"


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    """A machine of eight GPUs that NVML lists in another order than that of the bus."""
    gpus = several(8)
    for index, gpu in enumerate(gpus):
        gpu.name, gpu.sent_kib, gpu.received_kib = f"NVIDIA H200 {index}", index + 1, index + 1
    return put_in_place(monkeypatch, FakeNvml([*gpus[4:], *gpus[:4]]))


def with_instance(nvml: FakeNvml) -> FakeGpu:
    """A part of the first GPU on the bus."""
    whole = min(nvml.gpus, key=lambda gpu: gpu.bus)
    part = FakeGpu(name="NVIDIA H200 MIG 1g.18gb", uuid="MIG-1", total=18_000_000_000, parent=whole, links=[])
    nvml.instances.append(part)
    return part


@pytest.mark.parametrize(
    ("chosen", "labels", "names"),
    [
        (None, ["0", "1", "2"], ["H200 0", "H200 1", "H200 2"]),
        ("5,2,0", ["5", "2", "0"], ["H200 5", "H200 2", "H200 0"]),
        (f"{SIXTH}, GPU-5,1", [SIXTH, "GPU-5", "1"], ["H200 6", "H200 5", "H200 1"]),
        ("7,GPU-4c0ffeec0ffee,3,-1,2", ["7", "GPU-4c0ffeec0ffee", "3"], ["H200 7", "H200 4", "H200 3"]),
    ],
    ids=["all", "numbers", "names", "up to the first that is none"],
)
def test_every_look_is_at_the_chosen_gpus(
    nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch, chosen: str | None, labels: list[str], names: list[str]
) -> None:
    """Doctor, topology, counters and telemetry look at the GPUs that the ranks get, by number on the bus or by UUID."""
    if chosen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    kib = [(int(name[-1]) + 1) * 1024 for name in names]

    assert [(gpu.label, gpu.name) for gpu in read_machine(3).gpus] == list(zip(labels, names))
    assert [device.model for device in detect_gpus(3).devices] == names
    assert [counters.sent for counters in read_counters(3) if counters] == kib
    for gpu in nvml.gpus:
        gpu.busy = int(gpu.name[-1])
    loads = GpuLoads(3)
    assert [load.busy_percent for load in loads.look()] == [float(name[-1]) for name in names]


async def test_flags_are_about_the_chosen_gpus(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock that is held down on a GPU without a rank is not told; on the chosen one it is."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", FIFTH)
    idle, busy = (next(gpu for gpu in nvml.gpus if gpu.name[-1] == name) for name in "05")
    watch = GpuWatch(1)
    for gpu, flags in ((idle, ()), (busy, ("throttled (power 50%, rank 0)",))):
        await watch.before()
        idle.hold(0, 0, 1)
        busy.hold(0, 0, 1)
        gpu.hold(0, 1, 1)
        assert await watch.after() == flags


@pytest.mark.parametrize("chosen", ["", "-1", "0,8", "0,nonsense", "0,GPU-", "0,MIG-9"])
def test_too_few_chosen(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch, chosen: str) -> None:
    """Names that leave fewer GPUs than ranks are said with what they are, and give no figures of other GPUs."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)

    with pytest.raises(UsageError, match=f"CUDA_VISIBLE_DEVICES={chosen}"):
        rank_gpus(nvml, 2)
    assert GpuLoads(2).look() == ()


@pytest.mark.parametrize("chosen", ["0,1,0", "GPU-5,5", f"{FIFTH},GPU-5c0ffee"])
def test_a_gpu_named_twice(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch, chosen: str) -> None:
    """CUDA takes no GPU at all where one is named twice, also by two of its names; the message says so."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)

    with pytest.raises(UsageError, match=f"CUDA_VISIBLE_DEVICES={chosen} names a GPU twice"):
        rank_gpus(nvml, 1)
    assert GpuLoads(1).look() == ()


def test_gpus_that_the_driver_lost(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that NVML gives no handle for is named by its number; a driver without GPUs is said to serve none."""
    healthy = nvml.nvmlDeviceGetHandleByIndex
    monkeypatch.setattr(
        nvml, "nvmlDeviceGetHandleByIndex", lambda index: nvml._refuse() if index == 5 else healthy(index)
    )
    with pytest.raises(UsageError, match="GPU 5 cannot be looked at: NVML says Not Supported"):
        rank_gpus(nvml, 1)
    nvml.gpus.clear()
    with pytest.raises(UsageError, match="NVML finds 0 of 1 GPUs: the driver does not serve them"):
        rank_gpus(nvml, 1)


def test_a_rank_on_a_part_of_a_gpu(nvml: FakeNvml, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank on an instance (MIG), by its UUID, has the memory of that, the clocks of the GPU, and no NVLink."""
    part = with_instance(nvml)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", part.uuid)
    topology = detect_gpus(1)
    load = GpuLoads(1).look()[0]

    assert topology.devices[0].memory_bytes == 18_000_000_000
    assert not any(link.kind.startswith("NVLink") for link in topology.links)
    assert any("MIG" in note for note in topology.notes)
    assert (load.memory_total_bytes, load.clock_mhz, load.counters) == (18_000_000_000, 1980.0, "no links")


def test_ranks_number_gpus_by_the_bus(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever order the user's environment asks of CUDA, ranks count GPUs as NVML's places on the bus go."""
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "FASTEST_FIRST")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,2")

    assert rank_environment(tmp_path) | BY_BUS == rank_environment(tmp_path)
    assert rank_environment(tmp_path)["CUDA_VISIBLE_DEVICES"] == "5,2"
