"""Finds the topology of the ranks on this machine."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from workbench.judge.bandwidth import Peak, find_peak
from workbench.judge.links import LinkRate, find_ceilings, mechanism_ceilings
from workbench.topology.ceilings import MEASURED_HERE
from workbench.topology.gpus import detect_gpus
from workbench.topology.host import Host, Node, find_host
from workbench.topology.model import Device, Fact, Group, Link, Topology

LINK = "gloo over loopback"


def detect(world: int, device: str, peak: Peak | None = None, root: Path = Path("/")) -> Topology:
    """The topology of ``world`` ranks on this machine.

    ``peak`` is the measured rate of a rank's link; without it the newest cached one is taken. ``root`` holds ``proc``
    and ``sys``. Raises ``UsageError`` for GPUs whose links cannot be found out.
    """
    if device == "cuda":
        return with_ceilings(detect_gpus(world), mechanism_ceilings(find_ceilings(device)))
    host = find_host(root)
    peak = peak or find_peak(device, world)
    devices = tuple(_device(rank, world, host) for rank in range(world))
    return Topology(
        name=f"{world} CPU rank{'s' if world > 1 else ''} on {host.name}",
        graph="host",
        devices=devices,
        links=_links(devices, host, peak),
        groups=_groups(devices, host),
        notes=_notes(world, host, peak, find_ceilings(device, world)),
        source=host.source,
    )


def with_ceilings(topology: Topology, measured: Mapping[str, float]) -> Topology:
    """A topology whose transfer mechanisms have the ceilings of this machine, in GB/s, where they were measured."""
    rate = topology.links[0].total_gbps if topology.links else None
    if not rate or not measured:
        return topology
    found = {name: Fact(gbps / rate, MEASURED_HERE) for name, gbps in measured.items()}
    ceilings = {**topology.rates.ceilings, **found}
    return dataclasses.replace(topology, rates=dataclasses.replace(topology.rates, ceilings=ceilings))


def _device(rank: int, world: int, host: Host) -> Device:
    """Ranks spread evenly over NUMA nodes, neighbours together; each counts on an even share of the cores."""
    node = host.nodes[rank * len(host.nodes) // world]
    usable = host.cores if host.limit is None else min(host.cores, math.floor(host.limit))
    return Device(
        name=f"rank {rank}",
        kind="cpu",
        rank=rank,
        model=host.model,
        memory_bytes=node.memory_bytes,
        numa=node.number,
        cores=max(1, usable // world),
    )


def _links(devices: tuple[Device, ...], host: Host, peak: Peak | None) -> tuple[Link, ...]:
    if len(devices) < 2:
        return ()
    rate = float(f"{peak.gbps:.3g}") if peak else None
    return tuple(Link(a=device.name, b=host.name, kind=LINK, gbps=rate) for device in devices)


def _groups(devices: tuple[Device, ...], host: Host) -> tuple[Group, ...]:
    numa = tuple(_numa_group(node, devices) for node in host.nodes)
    detail = ", ".join(filter(None, (host.model, _count(host.sockets, "socket"), _count(host.cores, "core"))))
    return (Group(name=host.name, kind="host", members=tuple(group.name for group in numa), detail=detail), *numa)


def _numa_group(node: Node, devices: tuple[Device, ...]) -> Group:
    memory = f"{node.memory_bytes / 1e9:.0f} GB" if node.memory_bytes else ""
    detail = ", ".join(filter(None, (_count(len(node.cores), "core"), memory)))
    members = tuple(device.name for device in devices if device.numa == node.number)
    return Group(name=f"NUMA {node.number}", kind="numa", members=members, detail=detail)


def _notes(world: int, host: Host, peak: Peak | None, seen: Sequence[LinkRate]) -> tuple[str, ...]:
    notes = []
    if world == 1:
        notes.append("One rank: nothing moves between ranks.")
    elif peak:
        notes.append(f"Link: {peak.label}, {peak.how}. A CPU figure: it says nothing about GPUs.")
    else:
        notes.append("The link's rate is measured when ranks start for the first time.")
    reached = ", ".join(f"{rate.mechanism} {rate.gbps:.3g}" for rate in seen if not rate.two_way)
    if reached:
        notes.append(f"GB/s one way of large messages, {MEASURED_HERE}: {reached}.")
    if host.limit is not None and host.limit < host.cores:
        notes.append(f"This container may use {host.limit:g} cores at a time.")
    if world > host.cores:
        notes.append(f"{world} ranks share {_count(host.cores, 'core')}: times are those of a crowded machine.")
    elif len(host.nodes) > 1:
        notes.append("Places are nominal: ranks are not pinned, the system may move them.")
    return tuple(notes)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' if number != 1 else ''}"
