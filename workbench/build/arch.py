"""The architecture that CUDA text is compiled for."""

from __future__ import annotations

import re

from workbench.errors import UsageError
from workbench.topology.nvml import nvml_session

USUAL = "90"
"""Where this machine has no GPU: that of the H100 and H200."""


def choose_arch(wanted: str) -> str:
    """The wanted compute capability, ``90`` or ``9.0``; empty: that of this machine's GPUs, the lowest. May block."""
    if wanted:
        return _plain(wanted)
    found = _machine()
    return str(min(found)) if found else USUAL


def _plain(wanted: str) -> str:
    found = re.fullmatch(r"(?:sm_|compute_)?(\d+)\.?(\d[af]?)", wanted.strip())
    if found is None:
        raise UsageError(f"build.arch is {wanted!r}: give a compute capability such as 90, 9.0 or 90a")
    return found[1] + found[2]


def _machine() -> list[int]:
    try:
        with nvml_session("the GPUs cannot be asked for their architecture") as nvml:
            handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
            pairs = [nvml.nvmlDeviceGetCudaComputeCapability(handle) for handle in handles]
            return [10 * major + minor for major, minor in pairs]
    except UsageError:
        return []
