"""PCI Express: the rate of a slot, and the tree of GPUs that have no faster links."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.topology.model import Group, Link

GT_PER_LANE = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
"""Transfers a second of one lane in 1e9, by generation (PCI-SIG)."""
HOST, BETWEEN = "host", "socket to socket"

Slot = tuple[int, int]
"""Generation and lanes."""


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


def pcie_tree(slots: Sequence[Slot | None], nodes: Sequence[int | None]) -> tuple[tuple[Link, ...], tuple[Group, ...]]:
    """Links and groups of GPUs on PCIe, by their slots and NUMA nodes: below their node where there is more than one.

    What the nodes have between them is not known to the driver.
    """
    names = [f"cuda:{rank}" for rank in range(len(slots))]
    known = sorted({node for node in nodes if node is not None})
    if len(known) < 2 or None in nodes:
        return tuple(_link(*pair, HOST) for pair in zip(names, slots)), (_group(HOST, tuple(names)),)
    held = {f"NUMA {node}": tuple(n for n, at in zip(names, nodes) if at == node) for node in known}
    links = [_link(name, slot, f"NUMA {node}") for name, slot, node in zip(names, slots, nodes)]
    links += [Link(a=node, b=HOST, kind=BETWEEN) for node in held]
    inner = tuple(Group(name=name, kind="numa", members=members) for name, members in held.items())
    return tuple(links), (_group(HOST, tuple(held)), *inner)


def _link(name: str, slot: Slot | None, to: str) -> Link:
    return Link(a=name, b=to, kind=slot_words(slot), gbps=slot_rate(slot) if slot else None)


def _group(name: str, members: tuple[str, ...]) -> Group:
    return Group(name=name, kind="host", members=members)
