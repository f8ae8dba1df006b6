"""The state of the machine's GPUs: versions, memory, who uses them, which paths lead from one to another."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workbench.topology.chosen import RankGpu, rank_gpus
from workbench.topology.gpu_facts import link_rate
from workbench.topology.holders import Holder, holders
from workbench.topology.nvml import Counters, active_links, answer, in_parts, link_counters, nvml_session, text
from workbench.topology.throttle import Throttle, read_throttle

PathKind = Literal["NVLink", "PCIe", "none"]
"""How one GPU reaches the memory of another: ``none`` = only through the host's memory."""
_PURPOSE = "the GPUs cannot be looked at"
_READ, _WRITE, _NVLINK = 0, 1, 2
"""nvmlGpuP2PCapsIndex_t of nvml.h."""
_ALLOWED = 0


@dataclass(frozen=True, kw_only=True)
class GpuState:
    """One GPU as it is now. ``links_up`` of its ``links`` NVLinks run at ``link_gbps`` GB/s one way each."""

    label: str
    bus: str
    """Place on the PCI bus."""
    name: str
    memory_bytes: int
    free_bytes: int
    links: int
    links_up: int
    link_gbps: float | None
    exclusive: bool
    """Whether only one process, or none, may use it (compute mode)."""
    split: bool
    """Whether it is divided into instances (MIG); it has no NVLink then, and no peer reaches it."""
    holders: tuple[Holder, ...] | None
    """Processes that have memory on it; None where the driver does not tell."""
    counters: Counters | None
    throttle: Throttle | None
    """How long its clocks were held down so far; None where the driver does not tell."""


@dataclass(frozen=True, kw_only=True)
class GpuMachine:
    """The GPUs that ranks may use; ``paths`` by pairs of positions in ``gpus``, the smaller first."""

    driver: str
    cuda: str
    """The newest CUDA version that the driver runs."""
    gpus: tuple[GpuState, ...]
    paths: Mapping[tuple[int, int], PathKind]


def read_machine(count: int) -> GpuMachine:
    """The state of the first ``count`` GPUs that ranks use; UsageError when NVML cannot be asked."""
    with nvml_session(_PURPOSE) as nvml:
        chosen = rank_gpus(nvml, count)
        return GpuMachine(
            driver=text(nvml.nvmlSystemGetDriverVersion()),
            cuda=_cuda_version(int(nvml.nvmlSystemGetCudaDriverVersion_v2())),
            gpus=tuple(_state(nvml, gpu) for gpu in chosen),
            paths=_paths(nvml, chosen),
        )


def read_counters(count: int) -> list[Counters | None]:
    """The link counters of the first ``count`` GPUs that ranks use; UsageError when NVML cannot be asked."""
    with nvml_session(_PURPOSE) as nvml:
        return [link_counters(nvml, gpu.card) for gpu in rank_gpus(nvml, count)]


def _cuda_version(number: int) -> str:
    """13000 to ``13.0``."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _state(nvml: Any, gpu: RankGpu) -> GpuState:
    card = gpu.card
    memory = nvml.nvmlDeviceGetMemoryInfo(gpu.handle)
    split = gpu.instance or in_parts(nvml, card)
    up, links = ([], 0) if split else active_links(nvml, card)
    mode = answer(nvml, nvml.NVML_COMPUTEMODE_DEFAULT, nvml.nvmlDeviceGetComputeMode, card)
    return GpuState(
        label=gpu.label,
        bus=gpu.bus,
        name=text(nvml.nvmlDeviceGetName(gpu.handle)).removeprefix("NVIDIA "),
        memory_bytes=int(memory.total),
        free_bytes=int(memory.free),
        links=links,
        links_up=len(up),
        link_gbps=link_rate(nvml, card, up),
        exclusive=mode != nvml.NVML_COMPUTEMODE_DEFAULT,
        split=split,
        holders=holders(nvml, gpu.handle),
        counters=link_counters(nvml, card),
        throttle=read_throttle(nvml, card),
    )


def _paths(nvml: Any, gpus: Sequence[RankGpu]) -> dict[tuple[int, int], PathKind]:
    pairs = itertools.combinations(range(len(gpus)), 2)
    whole = [not (gpu.instance or in_parts(nvml, gpu.card)) for gpu in gpus]
    return {
        (one, other): _path(nvml, gpus[one].card, gpus[other].card) if whole[one] and whole[other] else "none"
        for one, other in pairs
    }


def _path(nvml: Any, one: Any, other: Any) -> PathKind:
    read, write, nvlink = (
        answer(nvml, None, nvml.nvmlDeviceGetP2PStatus, one, other, index) == _ALLOWED
        for index in (_READ, _WRITE, _NVLINK)
    )
    if not (read and write):
        return "none"
    return "NVLink" if nvlink else "PCIe"
