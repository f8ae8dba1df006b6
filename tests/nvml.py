"""An NVML of our own for tests: it answers what a test says about GPUs that are not there."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, NoReturn

import pynvml  # type: ignore[import-untyped]
import pytest

P2P_OK, P2P_NOT_SUPPORTED = 0, 1


@dataclass
class FakeGpu:
    """One GPU: eighteen NVLinks of version 4.0 to a switch, nobody on it."""

    name: str = "NVIDIA H200"
    total: int = 144_000_000_000
    used: int = 600_000_000
    links: list[int] = field(default_factory=lambda: [1] * 18)
    version: int = 6
    mode: int = 0
    split: bool = False
    processes: list[tuple[int, int | None]] = field(default_factory=list)
    sent_kib: int | None = 0
    received_kib: int = 0
    at_us: int = 1_000_000
    busy: int = 0
    clock: int = 1980
    power_mw: int = 76_300
    bus: str = "0000:00:00.0"

    def pass_on(self, kib: int, seconds: float) -> None:
        """Count this much traffic each way."""
        self.sent_kib = (self.sent_kib or 0) + kib
        self.received_kib += kib
        self.at_us += int(seconds * 1e6)


class FakeNvml:
    """The functions of pynvml that pkwb calls. What is named in ``refused`` raises NVMLError, as without permission."""

    NVML_NVLINK_MAX_LINKS = 18
    NVML_COMPUTEMODE_DEFAULT = 0
    NVML_CLOCK_SM = 1

    class NVMLError(Exception):
        """What pynvml raises."""

    def __init__(self, gpus: Sequence[FakeGpu], refused: Sequence[str] = (), message: str = "Not Supported") -> None:
        self.gpus = list(gpus)
        self.message = message
        self.p2p: dict[int, int] = {0: P2P_OK, 1: P2P_OK, 2: P2P_OK}
        """Status of every pair by capability: read, write, NVLink."""
        self.apart: set[int] = set()
        """GPUs that no other reaches."""
        self.open = 0
        self.asked = 0
        for name in refused:
            setattr(self, name, self._refuse)

    def _refuse(self, *_arguments: Any) -> NoReturn:
        raise self.NVMLError(self.message)

    def __getattr__(self, name: str) -> Any:
        """Other functions that the real library has are not supported by these GPUs."""
        if name.startswith("nvmlDevice") and hasattr(pynvml, name):
            return self._refuse
        raise AttributeError(name)

    def nvmlInit(self) -> None:
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlSystemGetDriverVersion(self) -> bytes:
        return b"580.159.04"

    def nvmlSystemGetCudaDriverVersion_v2(self) -> int:
        return 13000

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:
        self.asked += 1
        return self.gpus[index]

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> FakeGpu:
        return self.gpus[int(uuid.rpartition("-")[2])]

    def nvmlDeviceGetName(self, gpu: FakeGpu) -> str:
        return gpu.name

    def nvmlDeviceGetPciInfo(self, gpu: FakeGpu) -> Any:
        return SimpleNamespace(busId=gpu.bus)

    def nvmlDeviceGetNumaNodeId(self, gpu: FakeGpu) -> int:
        return 0

    def nvmlDeviceGetMemoryInfo(self, gpu: FakeGpu) -> Any:
        return SimpleNamespace(total=gpu.total, used=gpu.used, free=gpu.total - gpu.used)

    def nvmlDeviceGetNvLinkState(self, gpu: FakeGpu, link: int) -> int:
        if link >= len(gpu.links):
            raise self.NVMLError("Not Supported")
        return gpu.links[link]

    def nvmlDeviceGetNvLinkVersion(self, gpu: FakeGpu, link: int) -> int:
        return gpu.version

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, gpu: FakeGpu, link: int) -> int:
        return 2

    def nvmlDeviceGetNvLinkRemotePciInfo(self, gpu: FakeGpu, link: int) -> Any:
        return SimpleNamespace(busId="0000:ff:00.0")

    def nvmlDeviceGetComputeMode(self, gpu: FakeGpu) -> int:
        return gpu.mode

    def nvmlDeviceGetMigMode(self, gpu: FakeGpu) -> list[int]:
        return [int(gpu.split), int(gpu.split)]

    def nvmlDeviceGetComputeRunningProcesses(self, gpu: FakeGpu) -> list[Any]:
        return [SimpleNamespace(pid=pid, usedGpuMemory=memory) for pid, memory in gpu.processes]

    def nvmlDeviceGetFieldValues(self, gpu: FakeGpu, fields: Sequence[tuple[int, int]]) -> list[Any]:
        assert fields == [(138, 0xFFFFFFFF), (139, 0xFFFFFFFF)]
        known = gpu.sent_kib is not None
        counts = (gpu.sent_kib or 0, gpu.received_kib)
        return [_value(count, gpu.at_us, known) for count in counts]

    def nvmlDeviceGetP2PStatus(self, one: FakeGpu, other: FakeGpu, capability: int) -> int:
        alone = {self.gpus.index(one), self.gpus.index(other)} & self.apart
        return P2P_NOT_SUPPORTED if alone else self.p2p[capability]

    def nvmlDeviceGetUtilizationRates(self, gpu: FakeGpu) -> Any:
        return SimpleNamespace(gpu=gpu.busy, memory=0)

    def nvmlDeviceGetPowerUsage(self, gpu: FakeGpu) -> int:
        return gpu.power_mw

    def nvmlDeviceGetClockInfo(self, gpu: FakeGpu, kind: int) -> int:
        return gpu.clock


def _value(count: int, at_us: int, known: bool) -> Any:
    return SimpleNamespace(nvmlReturn=0 if known else 3, value=SimpleNamespace(ullVal=count), timestamp=at_us)


def put_in_place(monkeypatch: pytest.MonkeyPatch, nvml: FakeNvml) -> FakeNvml:
    """Let ``import pynvml`` find this one, and no environment narrow the GPUs."""
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return nvml


def eight() -> list[FakeGpu]:
    """The GPUs of a machine that has eight, not identical objects though equal in all figures but the bus."""
    return [FakeGpu(bus=f"0000:{index:02x}:00.0") for index in range(8)]
