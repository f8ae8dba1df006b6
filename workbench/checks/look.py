"""One look at the GPUs of a machine and at the software for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.checks.probe import Probe
from workbench.errors import UsageError
from workbench.toolchain import find_nvcc, nvcc_version
from workbench.topology.gpu_state import GpuMachine, read_counters
from workbench.topology.nvml import Counters


@dataclass(frozen=True, kw_only=True)
class GpuLook:
    """What was found: ``after`` holds the link counters after the probe's copies, ``probe`` is None without torch."""

    machine: GpuMachine
    after: Sequence[Counters | None]
    probe: Probe | None
    nvcc: str
    nvcc_version: str
    world: int
    share_gpus: bool = False


def complete_look(machine: GpuMachine, probe: Probe | None, world: int, share_gpus: bool = False) -> GpuLook:
    """Add to what NVML said before the probe what is there after it.

    ``world`` ranks are meant to run, with ``share_gpus`` on fewer GPUs if need be.
    """
    nvcc = find_nvcc()
    return GpuLook(
        machine=machine,
        after=_counters(len(machine.gpus)),
        probe=probe,
        nvcc=nvcc,
        nvcc_version=nvcc_version(nvcc) if nvcc else "",
        world=world,
        share_gpus=share_gpus,
    )


def _counters(count: int) -> Sequence[Counters | None]:
    try:
        return read_counters(count)
    except UsageError:
        return [None] * count
