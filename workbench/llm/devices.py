"""What kernels are shaped by and scores are labelled with: multiprocessors, shared memory, the hardware's name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from workbench.errors import UsageError
from workbench.target import Target
from workbench.topology.gpus import detect_gpus
from workbench.topology.host import find_host


@dataclass(frozen=True)
class Processors:
    """What kernels are shaped by. ``shared_kb`` is what one block may use at most, in KiB."""

    count: int
    shared_kb: int
    capability: str


_KNOWN: Mapping[str, Processors] = {
    "H200": Processors(132, 227, "9.0"),
    "H100 PCIe": Processors(114, 227, "9.0"),
    "H100": Processors(132, 227, "9.0"),
    "B200": Processors(148, 227, "10.0"),
    "A100": Processors(108, 163, "8.0"),
    "L40S": Processors(142, 99, "8.9"),
    "RTX 4090": Processors(128, 99, "8.9"),
    "RTX PRO 6000": Processors(188, 99, "12.0"),
}
"""By a part of the model's name, the first that fits. Sources: NVIDIA's architecture papers (multiprocessors) and the
CUDA C++ Programming Guide, technical specifications by compute capability (shared memory a block)."""


def processors_of(model: str) -> Processors | None:
    """The processors of a GPU by its model's name; None where they are not known."""
    return next((found for name, found in _KNOWN.items() if name in model), None)


def hardware_of(target: Target) -> str:
    """What the ranks of a target run on: ``2 × H200``, ``2 ranks on AMD EPYC``; empty where it cannot be found out."""
    if target.shared is not None:
        return target.place
    if target.device == "cpu":
        model = find_host(Path("/")).model
        return f"{target.world} rank{'s' if target.world != 1 else ''} on {model}" if model else ""
    try:
        return detect_gpus(target.world).name
    except UsageError:
        return ""
