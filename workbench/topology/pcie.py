"""PCI Express: the rate of a slot, and the tree of GPUs that have no faster links."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from workbench.topology.model import Group, GroupKind, Link

GT_PER_LANE = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
"""Transfers a second of one lane in 1e9, by generation (PCI-SIG)."""
HOST, BETWEEN = "host", "socket to socket"

_SWITCHES, _BRIDGE, _SOCKET = 20, 30, 40
"""nvmlGpuTopologyLevel_t of nvml.h: over PCIe switches alone, over a host bridge, within a NUMA node."""

Slot = tuple[int, int]
"""Generation and lanes."""
Ancestors = Mapping[tuple[int, int], int]
"""NVML's level at which two GPUs meet, by ranks, the smaller first."""


def slot_rate(slot: Slot) -> float | None:
    """One-way GB/s of a slot; None for a generation that is not known.

    Up to 2.0 a byte takes 10 transfers, up to 5.0 128 bits take 130, and 6.0 has 242 bytes of data in every 256.
    """
    generation, lanes = slot
    if generation not in GT_PER_LANE:
        return None
    coding = 0.8 if generation < 3 else 128 / 130 if generation < 6 else 242 / 256
    return round(GT_PER_LANE[generation] * lanes * coding / 8, 2)


def slot_words(slot: Slot | None) -> str:
    """``PCIe 5.0 x16``."""
    return f"PCIe {slot[0]}.0 x{slot[1]}" if slot else "PCIe"


@dataclass(frozen=True)
class _Level:
    """Ranks that share something on the way to the processor, as a partition of all ranks."""

    kind: GroupKind
    uplink: str
    """What joins one of its groups to the larger one."""
    held: Mapping[str, frozenset[int]]
    alone: bool = False
    """Whether a rank by itself is drawn in a group too."""


@dataclass(frozen=True)
class _Part:
    """A device or a group with its link to what is above."""

    name: str
    ranks: frozenset[int]
    kind: str
    gbps: float | None = None


def pcie_tree(
    slots: Sequence[Slot | None], nodes: Sequence[int | None], ancestors: Ancestors
) -> tuple[tuple[Link, ...], tuple[Group, ...]]:
    """Links and groups of GPUs on PCIe: by slot, by what pairs have in common, by NUMA node where there are several.

    What switches, bridges and nodes have between them is not known to the driver.
    """
    parts = [
        _Part(f"cuda:{rank}", frozenset({rank}), slot_words(slot), slot_rate(slot) if slot else None)
        for rank, slot in enumerate(slots)
    ]
    links: list[Link] = []
    groups: list[list[Group]] = []
    for level in _levels(len(slots), nodes, ancestors):
        groups.append([])
        for name, ranks in level.held.items():
            inside = [part for part in parts if part.ranks <= ranks]
            if len(inside) == 1 and not level.alone and len(level.held) > 1:
                continue
            links += [Link(a=part.name, b=name, kind=part.kind, gbps=part.gbps) for part in inside]
            groups[-1].append(Group(name=name, kind=level.kind, members=tuple(part.name for part in inside)))
            parts = [part for part in parts if part not in inside] + [_Part(name, ranks, level.uplink)]
        parts.sort(key=lambda part: min(part.ranks, default=0))
        if len(parts) == 1:
            break
    return tuple(links), tuple(group for level_groups in reversed(groups) for group in level_groups)


def _levels(count: int, nodes: Sequence[int | None], ancestors: Ancestors) -> Iterator[_Level]:
    """From the devices up; the last one holds all. A host bridge a socket is no level of its own."""
    sockets = _sockets(count, nodes, ancestors)
    bridges = _sharing(count, ancestors, _BRIDGE)
    if ancestors:
        yield _Level("switch", "PCIe uplink", _named("PCIe switch", _sharing(count, ancestors, _SWITCHES)))
        if bridges != sorted(sockets.held.values(), key=min):
            yield _Level("host", "host bridge to host", _named("host bridge", bridges))
    if len(sockets.held) > 1:
        yield sockets
    yield _Level("host", "", {HOST: frozenset(range(count))})


def _sockets(count: int, nodes: Sequence[int | None], ancestors: Ancestors) -> _Level:
    """NUMA nodes where every GPU's is known, else what NVML calls one node."""
    known = sorted({node for node in nodes if node is not None})
    if known and None not in nodes:
        held = {f"NUMA {node}": frozenset(rank for rank, at in enumerate(nodes) if at == node) for node in known}
        return _Level("numa", BETWEEN, held, alone=True)
    sets = _sharing(count, ancestors, _SOCKET) if ancestors else []
    return _Level("socket", BETWEEN, _named("socket", sets), alone=True)


def _named(noun: str, sets: Sequence[frozenset[int]]) -> dict[str, frozenset[int]]:
    return {noun if len(sets) == 1 else f"{noun} {number}": ranks for number, ranks in enumerate(sets)}


def _sharing(count: int, ancestors: Ancestors, most: int) -> list[frozenset[int]]:
    """Ranks in sets whose pairs meet at this level or below it, by their first rank."""
    sets: list[frozenset[int]] = []
    for rank in range(count):
        near = [held for held in sets if any(ancestors.get((other, rank), most + 1) <= most for other in held)]
        sets = [held for held in sets if held not in near] + [frozenset({rank}).union(*near)]
    return sorted(sets, key=min)
