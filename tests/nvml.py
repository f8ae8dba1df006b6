"""An NVML of our own for tests: it answers what a test says about GPUs that are not there."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
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
    uuid: str = ""
    numa: int | None = 0
    slot: tuple[int, int] | None = (5, 16)
    peers: list[str] = field(default_factory=list)
    """Bus of the GPU at the other end of each link; none = a switch."""
    link_kib: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Sent and received by link; the figures of all links together are ``sent_kib`` and ``received_kib``."""
    held_ns: dict[int, int] = field(default_factory=lambda: dict.fromkeys((0, 1, 2, 3, 5), 0))
    """Nanoseconds that clocks were held down by NVML's number of the policy."""
    held_fields: dict[int, int] = field(default_factory=dict)
    """The like by NVML's number of a field value."""
    reasons: int = 1
    """Bits of what holds the clocks down; 1 is idle."""
    parent: FakeGpu | None = None
    """The GPU that this one is a part of (MIG)."""

    def pass_on(self, kib: int, seconds: float) -> None:
        """Count this much traffic each way."""
        self.sent_kib = (self.sent_kib or 0) + kib
        self.received_kib += kib
        self.at_us += int(seconds * 1e6)

    def pass_over(self, link: int, kib: int) -> None:
        """Count this much traffic each way on one link, and on all together."""
        sent, received = self.link_kib.get(link, (0, 0))
        self.link_kib[link] = (sent + kib, received + kib)
        self.pass_on(kib, 0)

    def hold(self, policy: int, held_s: float, seconds: float) -> None:
        """Let ``seconds`` pass, of which the clocks are held down ``held_s``."""
        self.held_ns[policy] += int(held_s * 1e9)
        self.at_us += int(seconds * 1e6)


class FakeNvml:
    """The functions of pynvml that pkwb calls. What is named in ``refused`` raises NVMLError, as without permission."""

    NVML_NVLINK_MAX_LINKS = 18
    NVML_COMPUTEMODE_DEFAULT = 0
    NVML_CLOCK_SM = 1
    NVML_AFFINITY_SCOPE_NODE = 0

    class NVMLError(Exception):
        """What pynvml raises."""

    def __init__(self, gpus: Sequence[FakeGpu], refused: Sequence[str] = (), message: str = "Not Supported") -> None:
        self.gpus = list(gpus)
        self.message = message
        self.p2p: dict[int, int] = {0: P2P_OK, 1: P2P_OK, 2: P2P_OK}
        """Status of every pair by capability: read, write, NVLink."""
        self.pairs: dict[tuple[int, int, int], int] = {}
        """Status of single pairs, by their places in ``gpus`` and the capability."""
        self.apart: set[int] = set()
        """GPUs that no other reaches."""
        self.instances: list[FakeGpu] = []
        """Parts of GPUs (MIG); NVML gives them by their UUID."""
        self.ancestors: dict[tuple[int, int], int] = {}
        """Level at which two GPUs meet on PCIe, by their places in ``gpus``; pairs that are left out are not told."""
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

    def nvmlDeviceGetCount(self) -> int:
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:
        self.asked += 1
        return self.gpus[index]

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> FakeGpu:
        return next((gpu for gpu in (*self.gpus, *self.instances) if gpu.uuid == uuid), None) or self._refuse()

    def nvmlDeviceGetUUID(self, gpu: FakeGpu) -> str:
        return gpu.uuid

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, gpu: FakeGpu) -> FakeGpu:
        return gpu.parent or self._refuse()

    def nvmlDeviceGetName(self, gpu: FakeGpu) -> str:
        return gpu.name

    def nvmlDeviceGetPciInfo(self, gpu: FakeGpu) -> Any:
        return SimpleNamespace(busId=gpu.bus)

    def nvmlDeviceGetMemoryAffinity(self, gpu: FakeGpu, words: int, scope: int) -> list[int]:
        assert scope == self.NVML_AFFINITY_SCOPE_NODE
        if gpu.numa is None:
            self._refuse()
        return [1 << gpu.numa, *[0] * (words - 1)]

    def nvmlDeviceGetTopologyCommonAncestor(self, one: FakeGpu, other: FakeGpu) -> int:
        pair = sorted((self.gpus.index(one), self.gpus.index(other)))
        return self.ancestors.get((pair[0], pair[1])) or self._refuse()

    def nvmlDeviceGetMaxPcieLinkGeneration(self, gpu: FakeGpu) -> int:
        return (gpu.slot or self._refuse())[0]

    def nvmlDeviceGetMaxPcieLinkWidth(self, gpu: FakeGpu) -> int:
        return (gpu.slot or self._refuse())[1]

    def nvmlDeviceGetMemoryInfo(self, gpu: FakeGpu) -> Any:
        return SimpleNamespace(total=gpu.total, used=gpu.used, free=gpu.total - gpu.used)

    def nvmlDeviceGetNvLinkState(self, gpu: FakeGpu, link: int) -> int:
        if link >= len(gpu.links):
            raise self.NVMLError("Not Supported")
        return gpu.links[link]

    def nvmlDeviceGetNvLinkVersion(self, gpu: FakeGpu, link: int) -> int:
        return gpu.version

    def nvmlDeviceGetNvLinkRemoteDeviceType(self, gpu: FakeGpu, link: int) -> int:
        return 0 if gpu.peers else 2

    def nvmlDeviceGetNvLinkRemotePciInfo(self, gpu: FakeGpu, link: int) -> Any:
        return SimpleNamespace(busId=gpu.peers[link] if gpu.peers else "0000:ff:00.0")

    def nvmlDeviceGetComputeMode(self, gpu: FakeGpu) -> int:
        return gpu.mode

    def nvmlDeviceGetMigMode(self, gpu: FakeGpu) -> list[int]:
        return [int(gpu.split), int(gpu.split)]

    def nvmlDeviceGetComputeRunningProcesses(self, gpu: FakeGpu) -> list[Any]:
        return [SimpleNamespace(pid=pid, usedGpuMemory=memory) for pid, memory in gpu.processes]

    def nvmlDeviceGetFieldValues(self, gpu: FakeGpu, fields: Sequence[tuple[int, int] | int]) -> list[Any]:
        return [_value(*self._field(gpu, wanted), gpu.at_us) for wanted in fields]

    def _field(self, gpu: FakeGpu, wanted: tuple[int, int] | int) -> tuple[int, bool]:
        """A field value, and whether the driver has it."""
        if isinstance(wanted, tuple):
            return self._count(gpu, *wanted)
        return gpu.held_fields.get(wanted, 0), wanted in gpu.held_fields

    def _count(self, gpu: FakeGpu, number: int, link: int) -> tuple[int, bool]:
        """A counter, and whether the driver has it."""
        way = {138: 0, 139: 1}[number]
        if link == 0xFFFFFFFF:
            return (gpu.sent_kib or 0, gpu.received_kib)[way], gpu.sent_kib is not None
        return gpu.link_kib.get(link, (0, 0))[way], gpu.sent_kib is not None and link < len(gpu.links)

    def nvmlDeviceGetP2PStatus(self, one: FakeGpu, other: FakeGpu, capability: int) -> int:
        pair = sorted((self.gpus.index(one), self.gpus.index(other)))
        alone = set(pair) & self.apart
        status = self.pairs.get((pair[0], pair[1], capability), self.p2p[capability])
        return P2P_NOT_SUPPORTED if alone else status

    def nvmlDeviceGetUtilizationRates(self, gpu: FakeGpu) -> Any:
        return SimpleNamespace(gpu=gpu.busy, memory=0)

    def nvmlDeviceGetPowerUsage(self, gpu: FakeGpu) -> int:
        return gpu.power_mw

    def nvmlDeviceGetClockInfo(self, gpu: FakeGpu, kind: int) -> int:
        return gpu.clock

    def nvmlDeviceGetViolationStatus(self, gpu: FakeGpu, policy: int) -> Any:
        if policy not in gpu.held_ns:
            self._refuse()
        return SimpleNamespace(referenceTime=gpu.at_us, violationTime=gpu.held_ns[policy])

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, gpu: FakeGpu) -> int:
        return gpu.reasons


def _value(count: int, known: bool, at_us: int) -> Any:
    return SimpleNamespace(nvmlReturn=0 if known else 3, value=SimpleNamespace(ullVal=count), timestamp=at_us)


def put_in_place(monkeypatch: pytest.MonkeyPatch, nvml: FakeNvml) -> FakeNvml:
    """Let ``import pynvml`` find this one, and no environment narrow the GPUs."""
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return nvml


def eight() -> list[FakeGpu]:
    """The GPUs of a machine that has eight, equal in all figures but place and name."""
    return several(8)


def several(count: int, **figures: Any) -> list[FakeGpu]:
    """GPUs in the order of the bus, half of them on each of two NUMA nodes from four GPUs on."""
    return [
        FakeGpu(
            bus=f"00000000:{0x18 + 16 * index:02X}:00.0",
            uuid=f"GPU-{index:x}{'c0ffee' * 2}",
            **{"numa": 2 * index // count if count > 3 else 0, **figures},
        )
        for index in range(count)
    ]


def recorded(record: Mapping[str, Any]) -> FakeNvml:
    """The machine that ``benchmarks/record_nvml.py`` was run on."""
    gpus = [
        FakeGpu(
            **{
                **gpu,
                "slot": gpu["slot"] and tuple(gpu["slot"]),
                **{table: _by_number(gpu[table]) for table in ("held_ns", "held_fields")},
            }
        )
        for gpu in record["gpus"]
    ]
    nvml = FakeNvml(gpus, refused=record["refused"])
    nvml.pairs = {(one, other, way): status for one, other, way, status in record["p2p"]}
    nvml.ancestors = {(one, other): level for one, other, level in record["ancestors"]}
    return nvml


def _by_number(table: Mapping[str, int]) -> dict[int, int]:
    """JSON knows names only."""
    return {int(number): value for number, value in table.items()}
