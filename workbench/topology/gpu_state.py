"""The state of the machine's GPUs: versions, memory, who uses them, which paths lead from one to another."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from workbench.topology.gpus import link_rate
from workbench.topology.nvml import (
    Counters,
    active_links,
    answer,
    chosen_gpus,
    handle_of,
    link_counters,
    nvml_session,
    text,
)

PathKind = Literal["NVLink", "PCIe", "none"]
"""How one GPU reaches the memory of another: ``none`` = only through the host's memory."""
_PURPOSE = "the GPUs cannot be looked at"
_READ, _WRITE, _NVLINK = 0, 1, 2
"""nvmlGpuP2PCapsIndex_t of nvml.h."""
_ALLOWED = 0


@dataclass(frozen=True, kw_only=True)
class Holder:
    """A process that has memory on a GPU; ``user`` and ``command`` are empty where it is not visible from here."""

    pid: int
    user: str
    command: str
    memory_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class GpuState:
    """One GPU as it is now. ``links_up`` of its ``links`` NVLinks run at ``link_gbps`` GB/s one way each."""

    label: str
    name: str
    memory_bytes: int
    free_bytes: int
    links: int
    links_up: int
    link_gbps: float | None
    exclusive: bool
    """Whether only one process, or none, may use it (compute mode)."""
    split: bool
    """Whether it is divided into instances (MIG)."""
    holders: tuple[Holder, ...]
    counters: Counters | None


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
        names = chosen_gpus(count)
        handles = [handle_of(nvml, name) for name in names]
        return GpuMachine(
            driver=text(nvml.nvmlSystemGetDriverVersion()),
            cuda=_cuda_version(int(nvml.nvmlSystemGetCudaDriverVersion_v2())),
            gpus=tuple(_state(nvml, handle, str(name)) for handle, name in zip(handles, names)),
            paths=_paths(nvml, handles),
        )


def read_counters(count: int) -> list[Counters | None]:
    """The link counters of the first ``count`` GPUs that ranks use; UsageError when NVML cannot be asked."""
    with nvml_session(_PURPOSE) as nvml:
        return [link_counters(nvml, handle_of(nvml, gpu)) for gpu in chosen_gpus(count)]


def _cuda_version(number: int) -> str:
    """13000 to ``13.0``."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _state(nvml: Any, handle: Any, label: str) -> GpuState:
    memory = nvml.nvmlDeviceGetMemoryInfo(handle)
    up, links = active_links(nvml, handle)
    mode = answer(nvml, nvml.NVML_COMPUTEMODE_DEFAULT, nvml.nvmlDeviceGetComputeMode, handle)
    return GpuState(
        label=label,
        name=text(nvml.nvmlDeviceGetName(handle)).removeprefix("NVIDIA "),
        memory_bytes=int(memory.total),
        free_bytes=int(memory.free),
        links=links,
        links_up=len(up),
        link_gbps=link_rate(nvml, handle, up),
        exclusive=mode != nvml.NVML_COMPUTEMODE_DEFAULT,
        split=bool(answer(nvml, (0, 0), nvml.nvmlDeviceGetMigMode, handle)[0]),
        holders=_holders(answer(nvml, (), nvml.nvmlDeviceGetComputeRunningProcesses, handle)),
        counters=link_counters(nvml, handle),
    )


def _holders(processes: Iterable[Any], proc: Path = Path("/proc")) -> tuple[Holder, ...]:
    return tuple(_holder(int(process.pid), process.usedGpuMemory, proc) for process in processes)


def _holder(pid: int, memory: int | None, proc: Path) -> Holder:
    """A process by its number; in a container those of others are not visible."""
    folder = proc / str(pid)
    try:
        user, command = _owner(folder), (folder / "comm").read_text().strip()
    except OSError:
        user = command = ""
    return Holder(pid=pid, user=user, command=command, memory_bytes=memory)


def _owner(folder: Path) -> str:
    try:
        return folder.owner()
    except KeyError:
        return f"user {folder.stat().st_uid}"


def _paths(nvml: Any, handles: Sequence[Any]) -> dict[tuple[int, int], PathKind]:
    pairs = itertools.combinations(range(len(handles)), 2)
    return {(one, other): _path(nvml, handles[one], handles[other]) for one, other in pairs}


def _path(nvml: Any, one: Any, other: Any) -> PathKind:
    read, write, nvlink = (
        answer(nvml, None, nvml.nvmlDeviceGetP2PStatus, one, other, index) == _ALLOWED
        for index in (_READ, _WRITE, _NVLINK)
    )
    if not (read and write):
        return "none"
    return "NVLink" if nvlink else "PCIe"
