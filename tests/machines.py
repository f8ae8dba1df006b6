"""Machines with GPUs as their NVML tells them; tests need none.

Answers are made by hand after the driver's documentation; those of H200s in a virtual machine after what was seen.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from tests.nvml import P2P_NOT_SUPPORTED, FakeGpu, FakeNvml, several

SWITCH, BRIDGE, NODE, SYSTEM = 10, 30, 40, 50
"""Where two GPUs meet on PCIe: one switch, one host bridge, one NUMA node, two sockets (nvmlGpuTopologyLevel_t)."""


def hopper(count: int) -> FakeNvml:
    """H200s behind NVSwitches, counters that count, half of the GPUs on each socket from four on."""
    return _meeting(FakeNvml(several(count, sent_kib=77)), lambda a, b: NODE if _same(a, b, count) else SYSTEM)


def virtual(count: int) -> FakeNvml:
    """The same in a virtual machine: NUMA nodes, PCIe and throttling are not told, NVLink counters exist and read 0."""
    return FakeNvml(several(count, numa=None, sent_kib=0), refused=["nvmlDeviceGetViolationStatus"])


def mesh() -> FakeNvml:
    """Four A100s, each linked to each other by four NVLinks."""
    gpus = several(4, name="NVIDIA A100-SXM4-80GB", total=85_899_345_920, version=5, links=[1] * 12, slot=(4, 16))
    for gpu in gpus:
        gpu.peers = [other.bus for other in gpus if other is not gpu for _ in range(4)]
    return FakeNvml(gpus)


def bridged() -> FakeNvml:
    """Four H100 NVL: two pairs with bridges, PCIe between the pairs."""
    gpus = several(4, name="NVIDIA H100 NVL", total=100_000_000_000, links=[1] * 12)
    for gpu, other in itertools.permutations(gpus, 2):
        if _same(gpus.index(gpu), gpus.index(other), 4):
            gpu.peers = [other.bus] * 12
    return FakeNvml(gpus)


def cards(count: int, meet: Callable[[int, int], int], **figures: Any) -> FakeNvml:
    """Cards without NVLink, PCIe 4.0, which meet where ``meet`` says."""
    figures = {"name": "NVIDIA L40S", "total": 48_000_000_000, "links": [], "slot": (4, 16), **figures}
    nvml = _meeting(FakeNvml(several(count, **figures)), meet)
    nvml.p2p[2] = P2P_NOT_SUPPORTED
    return nvml


def one_switch() -> FakeNvml:
    """Four cards below one PCIe switch."""
    return cards(4, lambda a, b: SWITCH, numa=0)


def one_bridge() -> FakeNvml:
    """Four cards below one host bridge."""
    return cards(4, lambda a, b: BRIDGE, numa=0)


def two_sockets() -> FakeNvml:
    """Eight cards, two below each PCIe switch, two switches below each socket; peers reach each other's memory."""
    return cards(8, lambda a, b: SWITCH if a // 2 == b // 2 else BRIDGE if _same(a, b, 8) else SYSTEM)


def desktop() -> FakeNvml:
    """Two consumer cards on two sockets that do not reach each other's memory, NUMA nodes not told."""
    nvml = cards(2, lambda a, b: SYSTEM, name="NVIDIA GeForce RTX 4090", total=25_757_220_864, numa=None)
    nvml.p2p.update(dict.fromkeys((0, 1), P2P_NOT_SUPPORTED))
    return nvml


def split() -> FakeNvml:
    """Two H200s divided into instances; the first has one that CUDA_VISIBLE_DEVICES can name."""
    nvml = FakeNvml(several(2, split=True, sent_kib=None))
    part = FakeGpu(name="NVIDIA H200 MIG 1g.18gb", uuid="MIG-1", total=18_000_000_000, parent=nvml.gpus[0], links=[])
    nvml.instances.append(part)
    return nvml


def guarded() -> FakeNvml:
    """Two H200s whose driver tells this user neither processes nor load nor counters."""
    kept = ("ComputeRunningProcesses", "UtilizationRates", "PowerUsage", "FieldValues", "ViolationStatus")
    refused = [f"nvmlDeviceGet{name}" for name in (*kept, "CurrentClocksThrottleReasons")]
    return FakeNvml(several(2), refused=refused, message="Insufficient Permissions")


def driverless() -> FakeNvml:
    """GPUs whose driver is not loaded."""
    return FakeNvml(several(2), refused=["nvmlInit"], message="Driver Not Loaded")


def _same(one: int, other: int, count: int) -> bool:
    """Whether two GPUs are on the same half of a machine."""
    return 2 * one // count == 2 * other // count


def _meeting(nvml: FakeNvml, meet: Callable[[int, int], int]) -> FakeNvml:
    pairs = itertools.combinations(range(len(nvml.gpus)), 2)
    nvml.ancestors = {pair: meet(*pair) for pair in pairs}
    return nvml
