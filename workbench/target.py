"""What one sitting works on: a problem, its size and dtype, the ranks, and the working file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from problems.model import Binding, Problem
from workbench.topology.model import Topology

DEVICES = ("cpu", "cuda")
"""Devices that ranks can run on."""


@dataclass(frozen=True)
class SharedGpus:
    """GPUs that ranks take turns on, because there are fewer of them than ranks: rank r runs on GPU r % count."""

    count: int
    name: str
    """Number and model, for example ``1 × H200``."""

    def words(self, world: int) -> str:
        """``2 ranks share a GPU``: why their calls cannot be timed."""
        return f"{world} ranks share {'a GPU' if self.count == 1 else f'{self.count} GPUs'}"


@dataclass(frozen=True, kw_only=True)
class Target:
    """One problem at one size on one set of ranks, and the file that is judged."""

    problem: Problem
    binding: Binding
    backend: str
    device: str
    """``cpu`` or ``cuda``, never ``auto``."""
    path: Path
    """The working file, absolute."""
    what_if: Topology | None = None
    """Another system that floors are worked out for, with the ranks placed on it; None = this machine."""
    shared: SharedGpus | None = None
    """The GPUs that ranks share; None where each rank has one of its own, and on the CPU."""

    @property
    def world(self) -> int:
        """Number of ranks."""
        return self.binding.world

    @property
    def place(self) -> str:
        """The ranks and what they run on: ``2 cuda ranks``, ``2 ranks on 1 × H200`` where they share it."""
        if self.shared is not None:
            return f"{self.world} ranks on {self.shared.name}"
        return f"{self.world} {self.device} rank{'s' if self.world != 1 else ''}"

    @property
    def not_timed(self) -> str:
        """Why calls cannot be timed here, ``2 ranks share a GPU``; empty where they can."""
        return self.shared.words(self.world) if self.shared else ""


@dataclass(frozen=True, kw_only=True)
class Source:
    """One content of the working file."""

    path: Path
    text: str
    digest: str
    """Hex SHA-256 of the bytes."""
