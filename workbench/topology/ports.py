"""What the links of each rank carry at most by their nominal rates."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from workbench.topology.model import Link, Topology, together_gbps


@dataclass(frozen=True, kw_only=True)
class Port:
    """A rank's links to what other ranks can be reached by. ``gbps`` is their one-way rate together, in GB/s."""

    gbps: float
    label: str
    """``NVLink, 18 × 25 = 450 GB/s one way``."""


def ports(topology: Topology) -> tuple[Port | None, ...]:
    """One port a rank, by rank; None where a rate is not known, or is one that was measured (processors).

    Links to devices without a rank do not count: nothing runs there that could pass bytes on.
    """
    ranked = sorted((device.rank, device.name) for device in topology.devices if device.rank is not None)
    idle = {device.name for device in topology.devices if device.rank is None}
    of_each = {
        name: [link for link in topology.links if name in (link.a, link.b) and not {link.a, link.b} & idle]
        for _, name in ranked
    }
    return tuple(None if topology.graph == "host" else _port(of_each[name]) for _, name in ranked)


def _port(links: list[Link]) -> Port | None:
    gbps = together_gbps(links)
    if gbps is None:
        return None
    sorts = Counter((link.label, link.slot) for link in links)
    return Port(gbps=gbps, label="; ".join(_sort(*sort, count) for sort, count in sorts.items()))


def _sort(label: str, slot: bool, count: int) -> str:
    if count == 1:
        return label
    return f"{count} peers by {label}{' together' if slot else ''}"
