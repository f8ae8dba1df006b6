"""GPUs as NVML tells of them: names, memory, NUMA nodes, slots, and what is at the other end of their NVLinks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.topology.chosen import RankGpu, rank_gpus
from workbench.topology.nvml import active_links, answer, in_parts, links_by_peer, nvml_session, text
from workbench.topology.pcie import Ancestors, Slot

NVLINK_GBPS = {1: 20.0, 2: 25.0, 3: 25.0, 4: 25.0, 5: 25.0, 6: 25.0, 7: 50.0}
"""One-way GB/s of one link by NVML's number of the NVLink version (1.0, 2.0, 2.2, 3.0, 3.1, 4.0, 5.0), by NVIDIA's data
sheets (A100 12 x 25, H100 18 x 25, B200 18 x 50)."""
_TO_SWITCH, _TO_GPU = 2, 0
_NODE_WORDS = 4
"""Words of 64 NUMA nodes that are asked for."""


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
    """Whether it is a part of a GPU (MIG), or a GPU in parts: a rank gets one of them."""


def read_gpus(world: int) -> tuple[list[Gpu], Ancestors]:
    """The GPUs of ``world`` ranks, and where their pairs meet on PCIe; UsageError when NVML cannot be asked."""
    with nvml_session("the GPUs' links cannot be seen") as nvml:
        chosen = rank_gpus(nvml, world)
        return [_gpu(nvml, gpu) for gpu in chosen], _ancestors(nvml, [gpu.card for gpu in chosen])


def _gpu(nvml: Any, gpu: RankGpu) -> Gpu:
    card, part = gpu.card, gpu.instance or in_parts(nvml, gpu.card)
    links = [] if part else active_links(nvml, card)[0]
    kinds = [answer(nvml, _TO_GPU, nvml.nvmlDeviceGetNvLinkRemoteDeviceType, card, link) for link in links]
    peers = {} if part else links_by_peer(nvml, card)
    return Gpu(
        name=text(nvml.nvmlDeviceGetName(gpu.handle)).removeprefix("NVIDIA "),
        bus=gpu.bus,
        memory_bytes=int(nvml.nvmlDeviceGetMemoryInfo(gpu.handle).total),
        numa=numa_node(nvml, card),
        links=len(links),
        link_gbps=link_rate(nvml, card, links),
        to_switch=bool(kinds) and all(kind == _TO_SWITCH for kind in kinds),
        peers={bus: len(between) for bus, between in peers.items()},
        slot=pcie_slot(nvml, card),
        instance=part,
    )


def numa_node(nvml: Any, card: Any) -> int | None:
    """The NUMA node whose memory is nearest; None where it is not told, or there are several."""
    words = answer(nvml, (), nvml.nvmlDeviceGetMemoryAffinity, card, _NODE_WORDS, nvml.NVML_AFFINITY_SCOPE_NODE)
    nodes = [64 * at + bit for at, word in enumerate(words) for bit in range(64) if int(word) >> bit & 1]
    return nodes[0] if len(nodes) == 1 else None


def _ancestors(nvml: Any, cards: Sequence[Any]) -> Ancestors:
    """What each pair of GPUs has in common on the way to the processor, by NVML's levels."""
    pairs = itertools.combinations(range(len(cards)), 2)
    asked = {(a, b): answer(nvml, None, nvml.nvmlDeviceGetTopologyCommonAncestor, cards[a], cards[b]) for a, b in pairs}
    return {pair: int(level) for pair, level in asked.items() if level is not None}


def pcie_slot(nvml: Any, handle: Any) -> Slot | None:
    """The fastest that GPU and board can do together."""
    generation = answer(nvml, None, nvml.nvmlDeviceGetMaxPcieLinkGeneration, handle)
    lanes = answer(nvml, None, nvml.nvmlDeviceGetMaxPcieLinkWidth, handle)
    return (int(generation), int(lanes)) if generation and lanes else None


def link_rate(nvml: Any, handle: Any, links: Sequence[int]) -> float | None:
    """One-way GB/s of one of these NVLinks by their version; None where it is not known."""
    version = answer(nvml, 0, nvml.nvmlDeviceGetNvLinkVersion, handle, links[0]) if links else 0
    return NVLINK_GBPS.get(version)
