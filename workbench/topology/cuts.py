"""Cuts of a topology: sets of ranks, and what the links that leave them carry.

Whatever must go from one side of a cut to the other needs at least its bytes over the cut's capacity, by any algorithm.
Cuts around one rank give the usual bound by a device's links; those around sockets, nodes and halves of a torus bind
where the links between them are narrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.topology.model import Topology, together_gbps


@dataclass(frozen=True, kw_only=True)
class Cut:
    """Ranks on one side of a cut."""

    name: str
    ranks: frozenset[int]
    gbps: float | None
    """One-way capacity in GB/s; None = not known."""
    beside: int = 2
    """Sets of ranks with the same kind of cut, this one included, that share all ranks between them."""


def cuts(topology: Topology) -> tuple[Cut, ...]:
    """Cuts around each rank, around each group that has links of its own, and across each axis of a torus."""
    return (*_around_ranks(topology), *_around_groups(topology), *_across_axes(topology))


def _around_ranks(topology: Topology) -> Iterator[Cut]:
    """Links to devices without a rank do not count: nothing runs there that could pass bytes on."""
    ranks = {device.name: device.rank for device in topology.devices if device.rank is not None}
    idle = {device.name for device in topology.devices} - ranks.keys()
    for name, rank in ranks.items():
        links = [link for link in topology.links if name in (link.a, link.b) and not {link.a, link.b} & idle]
        yield Cut(name=f"rank {rank}", ranks=frozenset({rank}), gbps=together_gbps(links), beside=len(ranks))


def _around_groups(topology: Topology) -> Iterator[Cut]:
    inside = {group.name: _ranks_in(topology, group.name) for group in topology.groups}
    uplinks = {name: topology.links_of(name) for name in inside}
    for name, ranks in inside.items():
        parents = {link.b for link in uplinks[name]}
        beside = sum(1 for other in inside if inside[other] and parents & {link.b for link in uplinks[other]})
        if uplinks[name] and ranks and beside > 1:
            yield Cut(name=name, ranks=ranks, gbps=together_gbps(uplinks[name]), beside=beside)


def _ranks_in(topology: Topology, name: str) -> frozenset[int]:
    groups = {group.name: group.members for group in topology.groups}
    device = topology.by_name.get(name)
    if device is not None:
        return frozenset() if device.rank is None else frozenset({device.rank})
    return frozenset().union(*(_ranks_in(topology, member) for member in groups.get(name, ())))


def _across_axes(topology: Topology) -> Iterator[Cut]:
    """The torus cut in two between any two places of an axis; a ring is cut at its closing link too."""
    step = len(topology.devices)
    for axis, length in enumerate(topology.shape):
        step //= length
        place = {device.name: number // step % length for number, device in enumerate(topology.devices)}
        for at in range(1, length):
            low = frozenset(d.rank for d in topology.devices if d.rank is not None and place[d.name] < at)
            crossing = [link for link in topology.links if (place[link.a] < at) != (place[link.b] < at)]
            yield Cut(name=f"axis {axis + 1} at {at} of {length}", ranks=low, gbps=together_gbps(crossing))
