"""What NVML says about a machine's GPUs, read from an NVML of our own."""

from __future__ import annotations

import getpass
import os

import pynvml  # type: ignore[import-untyped]
import pytest

from tests.nvml import FakeGpu, FakeNvml, eight, put_in_place
from workbench.errors import UsageError
from workbench.topology.gpu_state import read_counters, read_machine
from workbench.topology.gpus import detect_gpus


def test_our_nvml_has_the_names_of_the_real_one() -> None:
    """Every function that these tests answer exists in the library that pkwb depends on."""
    names = {name for name in dir(FakeNvml) if name.lower().startswith("nvml")}
    assert len(names) > 20
    assert [name for name in sorted(names) if not hasattr(pynvml, name)] == []


def test_two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """Versions, memory, links and the path between two GPUs; NVML is left afterwards."""
    nvml = put_in_place(monkeypatch, FakeNvml([FakeGpu(bus="a"), FakeGpu(bus="b", links=[1] * 17 + [0])]))
    machine = read_machine(2)
    assert (machine.driver, machine.cuda) == ("580.159.04", "13.0")
    assert [(gpu.name, gpu.free_bytes) for gpu in machine.gpus] == [("H200", 143_400_000_000)] * 2
    assert [(gpu.links_up, gpu.links, gpu.link_gbps) for gpu in machine.gpus] == [(18, 18, 25.0), (17, 18, 25.0)]
    assert machine.paths == {(0, 1): "NVLink"}
    assert nvml.open == 0


@pytest.mark.parametrize(("status", "path"), [({2: 1}, "PCIe"), ({1: 1}, "none"), ({0: 1, 1: 1, 2: 1}, "none")])
def test_paths(monkeypatch: pytest.MonkeyPatch, status: dict[int, int], path: str) -> None:
    """Without NVLink it is PCIe; where a GPU may not write to its peer there is no path."""
    nvml = put_in_place(monkeypatch, FakeNvml([FakeGpu(bus="a"), FakeGpu(bus="b")]))
    nvml.p2p.update(status)
    assert read_machine(2).paths == {(0, 1): path}


def test_who_uses_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A visible process has its user and command; one of another container has only its number."""
    gpu = FakeGpu(processes=[(os.getpid(), 3_000_000_000), (2**30, None)])
    put_in_place(monkeypatch, FakeNvml([gpu]))
    mine, other = read_machine(1).gpus[0].holders
    assert mine.user == getpass.getuser()
    assert mine.command
    assert mine.memory_bytes == 3_000_000_000
    assert (other.pid, other.user, other.command, other.memory_bytes) == (2**30, "", "", None)


def test_chosen_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    """CUDA_VISIBLE_DEVICES decides which GPUs are looked at, by number or by UUID."""
    gpus = eight()
    gpus[5].name, gpus[6].name = "NVIDIA five", "NVIDIA six"
    put_in_place(monkeypatch, FakeNvml(gpus))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,GPU-6")
    assert [(gpu.label, gpu.name) for gpu in read_machine(2).gpus] == [("5", "five"), ("GPU-6", "six")]


def test_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Counters are bytes, each GPU's own; a driver that does not count gives none."""
    put_in_place(monkeypatch, FakeNvml([FakeGpu(sent_kib=3, received_kib=2), FakeGpu(bus="b", sent_kib=None)]))
    first, second = read_counters(2)
    assert first is not None
    assert (first.sent, first.received, first.counting) == (3072, 2048, True)
    assert second is None


UNKNOWN = [
    "nvmlDeviceGetComputeMode",
    "nvmlDeviceGetMigMode",
    "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetFieldValues",
    "nvmlDeviceGetNvLinkState",
    "nvmlDeviceGetP2PStatus",
]


def test_driver_that_answers_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a GPU or driver does not know, or may not tell, is left out; the rest is still there."""
    put_in_place(monkeypatch, FakeNvml([FakeGpu(bus="a"), FakeGpu(bus="b")], refused=UNKNOWN))
    machine = read_machine(2)
    gpu = machine.gpus[0]
    assert (gpu.exclusive, gpu.split, gpu.holders, gpu.counters) == (False, False, None, None)
    assert (gpu.links, gpu.links_up, gpu.link_gbps) == (0, 0, None)
    assert machine.paths == {(0, 1): "none"}


@pytest.mark.parametrize("refused", ["nvmlInit", "nvmlSystemGetDriverVersion", "nvmlDeviceGetHandleByIndex"])
def test_no_permission(monkeypatch: pytest.MonkeyPatch, refused: str) -> None:
    """A library that cannot be asked is said with its own words, and left."""
    nvml = put_in_place(monkeypatch, FakeNvml([FakeGpu()], refused=[refused], message="Insufficient Permissions"))
    with pytest.raises(UsageError, match="cannot be looked at: NVML says Insufficient Permissions"):
        read_machine(1)
    assert nvml.open == 0


def test_topology_of_eight(monkeypatch: pytest.MonkeyPatch) -> None:
    """The topology of eight GPUs behind a switch comes from the same answers."""
    put_in_place(monkeypatch, FakeNvml(eight()))
    topology = detect_gpus(8)
    assert topology.graph == "switch"
    assert [link.total_gbps for link in topology.links] == [450.0] * 8
