"""The topology of GPU ranks, as NVML tells it: names, memory, NUMA nodes, NVLinks and the switches behind them."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.topology.catalogue import rates_of
from workbench.topology.chosen import RankGpu, rank_gpus
from workbench.topology.model import Device, Graph, Group, Link, Rates, Topology
from workbench.topology.nvml import active_links, answer, links_by_peer, nvml_session, text
from workbench.topology.pcie import Ancestors, Slot, pcie_tree, slot_rate

NVLINK_GBPS = {1: 20.0, 2: 25.0, 3: 25.0, 4: 25.0, 5: 25.0, 6: 25.0, 7: 50.0}
"""One-way GB/s of one link by NVML's number of the NVLink version (1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0), by NVIDIA's data
sheets (A100 12 x 25, H100 18 x 25, B200 18 x 50)."""
SWITCH = "NVSwitch"
_TO_SWITCH, _TO_GPU = 2, 0
_NODE_WORDS = 4
"""Words of 64 NUMA nodes that are asked for."""
_FAST_SLOT = 121.0
"""PCIe 6.0 x16."""


@dataclass(frozen=True)
class Gpu:
    """One GPU as NVML sees it; ``peers`` counts active NVLinks by the bus id of the GPU at their other end."""

    name: str
    bus: str
    memory_bytes: int
    numa: int | None
    links: int
    link_gbps: float | None
    to_switch: bool
    peers: dict[str, int]
    slot: Slot | None = None
    """Generation and lanes of its PCIe link at full speed; idle GPUs run it slower."""
    instance: bool = False
    """Whether it is a part of a GPU (MIG)."""


def detect_gpus(world: int) -> Topology:
    """The topology of ``world`` GPU ranks; UsageError when NVML cannot be asked."""
    return gpu_topology(*_ask_nvml(world))


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
        links.append(Link(a=f"cuda:{one}", b=f"cuda:{other}", kind=kind, gbps=gbps, count=max(1, count)))
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


def _ask_nvml(world: int) -> tuple[list[Gpu], Ancestors]:
    with nvml_session("the GPUs' links cannot be seen") as nvml:
        chosen = rank_gpus(nvml, world)
        return [_gpu(nvml, gpu) for gpu in chosen], _ancestors(nvml, [gpu.card for gpu in chosen])


def _gpu(nvml: Any, gpu: RankGpu) -> Gpu:
    card = gpu.card
    links = [] if gpu.instance else active_links(nvml, card)[0]
    kinds = [answer(nvml, _TO_GPU, nvml.nvmlDeviceGetNvLinkRemoteDeviceType, card, link) for link in links]
    peers = {} if gpu.instance else links_by_peer(nvml, card)
    return Gpu(
        name=text(nvml.nvmlDeviceGetName(gpu.handle)).removeprefix("NVIDIA "),
        bus=gpu.bus,
        memory_bytes=int(nvml.nvmlDeviceGetMemoryInfo(gpu.handle).total),
        numa=_numa(nvml, card),
        links=len(links),
        link_gbps=link_rate(nvml, card, links),
        to_switch=bool(kinds) and all(kind == _TO_SWITCH for kind in kinds),
        peers={bus: len(between) for bus, between in peers.items()},
        slot=_slot(nvml, card),
        instance=gpu.instance,
    )


def _numa(nvml: Any, card: Any) -> int | None:
    """The NUMA node whose memory is nearest; None where it is not told, or there are several."""
    words = answer(nvml, (), nvml.nvmlDeviceGetMemoryAffinity, card, _NODE_WORDS, nvml.NVML_AFFINITY_SCOPE_NODE)
    nodes = [64 * at + bit for at, word in enumerate(words) for bit in range(64) if int(word) >> bit & 1]
    return nodes[0] if len(nodes) == 1 else None


def _ancestors(nvml: Any, cards: Sequence[Any]) -> Ancestors:
    """What each pair of GPUs has in common on the way to the processor, by NVML's levels."""
    pairs = itertools.combinations(range(len(cards)), 2)
    asked = {(a, b): answer(nvml, None, nvml.nvmlDeviceGetTopologyCommonAncestor, cards[a], cards[b]) for a, b in pairs}
    return {pair: int(level) for pair, level in asked.items() if level is not None}


def _slot(nvml: Any, handle: Any) -> Slot | None:
    """The fastest that GPU and board can do together."""
    generation = answer(nvml, None, nvml.nvmlDeviceGetMaxPcieLinkGeneration, handle)
    lanes = answer(nvml, None, nvml.nvmlDeviceGetMaxPcieLinkWidth, handle)
    return (int(generation), int(lanes)) if generation and lanes else None


def link_rate(nvml: Any, handle: Any, links: Sequence[int]) -> float | None:
    """One-way GB/s of one of these NVLinks by their version; None where it is not known."""
    version = answer(nvml, 0, nvml.nvmlDeviceGetNvLinkVersion, handle, links[0]) if links else 0
    return NVLINK_GBPS.get(version)
