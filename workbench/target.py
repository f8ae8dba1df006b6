"""What one sitting works on: a problem, its size and dtype, the ranks, and the working file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from problems.model import Binding, Problem
from workbench.topology.model import Topology

DEVICES = ("cpu", "cuda")
"""Devices that ranks can run on."""


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

    @property
    def world(self) -> int:
        """Number of ranks."""
        return self.binding.world


@dataclass(frozen=True, kw_only=True)
class Source:
    """One content of the working file."""

    path: Path
    text: str
    digest: str
    """Hex SHA-256 of the bytes."""
