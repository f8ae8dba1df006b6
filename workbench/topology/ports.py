"""What the links of each rank carry at most by their nominal rates."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.topology.model import Link, Topology


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
    rates = [link.total_gbps for link in links]
    known = [rate for rate in rates if rate is not None]
    if not known or len(known) < len(rates):
        return None
    sorts = dict.fromkeys(link.label for link in links)
    counts = {sort: sum(link.label == sort for link in links) for sort in sorts}
    label = "; ".join(sort if count == 1 else f"{count} peers by {sort}" for sort, count in counts.items())
    return Port(gbps=sum(known), label=label)
