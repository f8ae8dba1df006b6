"""A topology is data: devices, links, and the groups that hold devices together."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Graph = Literal["host", "switch", "mesh", "torus", "tree"]
"""``host``: ranks of one machine's processors. ``tree``: switches and root complexes above each other (PCIe)."""
GroupKind = Literal["host", "socket", "numa", "switch", "node"]


@dataclass(frozen=True)
class Fact:
    """A figure and where it is from; ``unsure`` where it was not read in the maker's own papers, or boxes differ."""

    value: float
    source: str
    unsure: bool = False


@dataclass(frozen=True, kw_only=True)
class Rates:
    """What one device can do at most, and what a link's transfers cost."""

    hbm_gbps: Fact | None = None
    """Memory bandwidth in GB/s (1e9 bytes)."""
    tflops: Mapping[str, Fact] = field(default_factory=dict)
    """Dense 1e12 operations a second by dtype (``tf32`` for matrix units on float32 data)."""
    alpha_us: Fact | None = None
    """Microseconds of one dependent step: what one device wrote is seen by another, with no time for the bytes."""
    in_network_reduction: bool = False
    """Whether switches can add and multicast (NVLink SHARP)."""
    nic_gbps: Fact | None = None
    """One-way GB/s of a node's network adapters together."""
    ceilings: Mapping[str, Fact] = field(default_factory=dict)
    """Share of the link's rate that a transfer mechanism was seen to reach, by mechanism."""

    @property
    def facts(self) -> Mapping[str, Fact]:
        """Every figure that is known, by its name in a topology file."""
        single = {"hbm_gbps": self.hbm_gbps, "alpha_us": self.alpha_us, "nic_gbps": self.nic_gbps}
        named = {f"tflops.{dtype}": fact for dtype, fact in self.tflops.items()}
        named |= {f"ceilings.{mechanism}": fact for mechanism, fact in self.ceilings.items()}
        return {name: fact for name, fact in {**single, **named}.items() if fact is not None}


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
    slot: bool = False
    """Whether it goes through its devices' slots on PCIe: all such links of a device carry no more than one of them."""

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


def together_gbps(links: Sequence[Link]) -> float | None:
    """One-way GB/s of links that leave one place side by side; None where there is none, or a rate is not known."""
    rates = [(link.slot, link.total_gbps) for link in links]
    known = [(slot, rate) for slot, rate in rates if rate is not None]
    if not known or len(known) < len(rates):
        return None
    return sum(rate for slot, rate in known if not slot) + max((rate for slot, rate in known if slot), default=0.0)


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
    rates: Rates = Rates()
    shape: tuple[int, ...] = ()
    """Devices along each axis of a torus; the last axis runs fastest through ``devices``."""
    wraps: tuple[bool, ...] = ()
    """Whether each axis is closed to a ring."""
    bypass_gbps: float = 0.0
    """One-way GB/s that a device may move beside its links, through the host; floors leave it out, limits do not."""
    imagined: bool = False
    """Whether it is another system than the one that the ranks run on."""

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

    def links_of(self, name: str) -> tuple[Link, ...]:
        """Links by which a device or group hangs on a larger one, or the links that start at a device."""
        return tuple(link for link in self.links if link.a == name)


def to_dict(topology: Topology) -> dict[str, Any]:
    """A topology as plain data."""
    return dataclasses.asdict(topology)


def to_json(topology: Topology) -> str:
    """One line of JSON."""
    return json.dumps(to_dict(topology))
