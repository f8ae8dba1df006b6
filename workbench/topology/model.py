"""A topology is data: devices, links, and the groups that hold devices together."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Graph = Literal["host", "switch", "mesh", "torus", "tree"]
"""``host``: ranks of one machine's processors. ``tree``: switches and root complexes above each other (PCIe)."""
GroupKind = Literal["host", "socket", "numa", "switch", "node"]


@dataclass(frozen=True, kw_only=True)
class Device:
    """What one rank runs on; ``name`` is unique in its topology."""

    name: str
    kind: Literal["cpu", "gpu", "tpu", "nic"]
    rank: int | None = None
    model: str = ""
    memory_bytes: int | None = None
    numa: int | None = None
    cores: int | None = None
    """Processor cores a rank may count on."""


@dataclass(frozen=True, kw_only=True)
class Link:
    """A connection between two devices, or between a device or group and the group it hangs on."""

    a: str
    b: str
    kind: str
    """In words people know: ``NVLink``, ``PCIe 5.0 x16``, ``gloo over loopback``."""
    gbps: float | None = None
    """One-way rate of each of ``count`` links in GB/s (1e9 bytes); None = not known."""
    count: int = 1

    @property
    def total_gbps(self) -> float | None:
        """One-way rate of all its links together."""
        return None if self.gbps is None else self.gbps * self.count

    @property
    def label(self) -> str:
        """The link in words, for example ``NVLink, 18 × 25 = 450 GB/s one way``."""
        if self.gbps is None or self.total_gbps is None:
            return f"{self.kind}, rate not known" if self.count == 1 else f"{self.count} × {self.kind}, rate not known"
        rate = f"{self.gbps:g}" if self.count == 1 else f"{self.count} × {self.gbps:g} = {self.total_gbps:g}"
        return f"{self.kind}, {rate} GB/s one way"


@dataclass(frozen=True, kw_only=True)
class Group:
    """Devices or smaller groups that share something: a switch, a NUMA node, a host."""

    name: str
    kind: GroupKind
    members: tuple[str, ...]
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Topology:
    """Devices and how they are linked. ``source`` says where the facts come from."""

    name: str
    graph: Graph
    devices: tuple[Device, ...]
    links: tuple[Link, ...] = ()
    groups: tuple[Group, ...] = ()
    notes: tuple[str, ...] = ()
    source: str = ""

    @property
    def by_name(self) -> Mapping[str, Device]:
        """Devices by name."""
        return {device.name: device for device in self.devices}

    @property
    def outermost(self) -> tuple[Group, ...]:
        """Groups that are in no other group."""
        inside = {member for group in self.groups for member in group.members}
        return tuple(group for group in self.groups if group.name not in inside)

    def links_to(self, name: str) -> tuple[Link, ...]:
        """Links that hang on a group."""
        return tuple(link for link in self.links if link.b == name)


def to_dict(topology: Topology) -> dict[str, Any]:
    """A topology as plain data."""
    return dataclasses.asdict(topology)


def to_json(topology: Topology) -> str:
    """One line of JSON."""
    return json.dumps(to_dict(topology))
