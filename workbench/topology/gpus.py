"""The topology of GPU ranks: a switch, direct links, or the tree of PCIe, with the rates of the catalogue."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence

from workbench.topology.catalogue import rates_of
from workbench.topology.gpu_facts import Gpu, read_gpus
from workbench.topology.model import Device, Graph, Group, Link, Rates, Topology
from workbench.topology.pcie import Ancestors, Slot, pcie_tree, slot_rate

SWITCH = "NVSwitch"
_FAST_SLOT = 121.0
"""PCIe 6.0 x16."""


def detect_gpus(world: int) -> Topology:
    """The topology of ``world`` GPU ranks; UsageError when NVML cannot be asked."""
    return gpu_topology(*read_gpus(world))


def gpu_topology(gpus: Sequence[Gpu], ancestors: Ancestors | None = None) -> Topology:
    """The topology of these GPUs, rank r on GPU r: a switch, direct links, or PCIe where there is no NVLink.

    ``ancestors`` has what pairs of GPUs share on PCIe, where the driver tells.
    """
    devices = tuple(
        Device(name=f"cuda:{rank}", kind="gpu", rank=rank, model=gpu.name, memory_bytes=gpu.memory_bytes, numa=gpu.numa)
        for rank, gpu in enumerate(gpus)
    )
    graph = _graph(gpus)
    links, groups = _LINKED[graph](gpus, ancestors or {})
    rates, origin = _rates(gpus, graph == "switch")
    return Topology(
        name=f"{len(gpus)} × {gpus[0].name}" if gpus else "no GPUs",
        graph=graph,
        devices=devices,
        links=links,
        groups=groups,
        notes=tuple(filter(None, (_NOTES[graph] if gpus else "", _parts(gpus), origin))),
        source="NVML",
        rates=rates,
        bypass_gbps=0.0 if graph == "tree" else max((_slot_rate(gpu) for gpu in gpus), default=0.0),
    )


def _parts(gpus: Sequence[Gpu]) -> str:
    if not any(gpu.instance for gpu in gpus):
        return ""
    return "A rank on a part of a GPU (MIG) has no NVLink, and no peer reaches its memory."


def _slot_rate(gpu: Gpu) -> float:
    """GB/s of the PCIe slot; that of a fast one where it is not known."""
    return (slot_rate(gpu.slot) if gpu.slot else None) or _FAST_SLOT


def _graph(gpus: Sequence[Gpu]) -> Graph:
    """A switch where all links lead to one, a mesh where GPUs are linked to each other, else the tree of PCIe."""
    if gpus and all(gpu.links and gpu.to_switch for gpu in gpus):
        return "switch"
    return "mesh" if len(gpus) < 2 or any(gpu.peers for gpu in gpus) else "tree"


def _rates(gpus: Sequence[Gpu], switched: bool) -> tuple[Rates, str]:
    """Rates of the catalogue for this kind of GPU, and where they are from; what belongs to its links stays away where
    these GPUs have none."""
    models = {gpu.name for gpu in gpus}
    if not models:
        return Rates(), ""
    found = rates_of(models.pop()) if len(models) == 1 else None
    if found is None:
        return Rates(), "Memory bandwidth and operations a second of these GPUs are not known."
    rates, name = found
    if not switched:
        rates = dataclasses.replace(rates, in_network_reduction=False, ceilings={})
    return rates, f"Memory bandwidth, operations a second and the time of a step are those of topology {name}."


Linked = tuple[tuple[Link, ...], tuple[Group, ...]]


def _on_switch(gpus: Sequence[Gpu], _ancestors: Ancestors) -> Linked:
    names = tuple(f"cuda:{rank}" for rank in range(len(gpus)))
    links = (
        Link(a=name, b=SWITCH, kind="NVLink", gbps=gpu.link_gbps, count=gpu.links) for name, gpu in zip(names, gpus)
    )
    return tuple(links), (Group(name=SWITCH, kind="switch", members=names),)


def _in_mesh(gpus: Sequence[Gpu], _ancestors: Ancestors) -> Linked:
    """NVLink from GPU to GPU; pairs without one have PCIe, as fast as the slower of their slots."""
    links = []
    for (one, gpu), (other, peer) in itertools.combinations(enumerate(gpus), 2):
        count = gpu.peers.get(peer.bus, 0)
        kind, gbps = ("NVLink", gpu.link_gbps) if count else ("PCIe", _slower(gpu.slot, peer.slot))
        ends = {"a": f"cuda:{one}", "b": f"cuda:{other}"}
        links.append(Link(**ends, kind=kind, gbps=gbps, count=max(1, count), slot=not count))
    return tuple(links), ()


def _on_pcie(gpus: Sequence[Gpu], ancestors: Ancestors) -> Linked:
    return pcie_tree([gpu.slot for gpu in gpus], [gpu.numa for gpu in gpus], ancestors)


def _slower(*slots: Slot | None) -> float | None:
    rates = [slot_rate(slot) for slot in slots if slot is not None]
    known = [rate for rate in rates if rate is not None]
    return min(known) if len(known) == len(slots) else None


_LINKED: dict[Graph, Callable[[Sequence[Gpu], Ancestors], Linked]] = {
    "switch": _on_switch,
    "mesh": _in_mesh,
    "tree": _on_pcie,
}
_NOTES: dict[Graph, str] = {
    "switch": "NVLink rates are nominal, by the links' version and number.",
    "mesh": "Links are drawn as NVML reports them; a pair without NVLink is drawn as PCIe.",
    "tree": "No NVLink: rates are those of the PCIe slots at full speed.",
}
