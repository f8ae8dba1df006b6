"""Ranks placed on a system: its devices, links and groups as far as ranks need them."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator

from workbench.errors import TopologyError
from workbench.topology.model import Device, Group, Link, Rates, Topology
from workbench.topology.system import Hop, System, Torus

_DRAWN = 16
"""Devices without a rank are left out of systems with more devices than this."""


def place(system: System, world: int) -> Topology:
    """The topology of ``world`` ranks on a system, rank r on device r; TopologyError where it has too few devices."""
    if world > system.devices:
        raise TopologyError(
            f"{system.name} has {system.devices} device{'s' if system.devices != 1 else ''}: give --ranks 1"
            f"{f' to {system.devices}' if system.devices != 1 else ''}, or a larger system"
        )
    count = system.devices if system.devices <= _DRAWN and system.graph != "torus" else world
    devices = tuple(_device(system, number, world) for number in range(count))
    shape = _slice(system.torus, world, system.name) if system.torus else ()
    wraps = _wraps(system.torus, shape) if system.torus else ()
    links, groups = _tree(system, devices) if system.graph in ("switch", "tree") else ((), ())
    return Topology(
        name=system.title,
        graph=system.graph,
        devices=devices,
        links=links or tuple(_direct(system, devices, shape, wraps)),
        groups=groups,
        notes=(*_left_out(system, count), *system.notes),
        source=f"topology {system.name}",
        rates=_rates(system, world),
        shape=shape,
        wraps=wraps,
        imagined=True,
    )


def _device(system: System, number: int, world: int) -> Device:
    return Device(
        name=f"{system.device} {number}",
        kind=system.device,
        rank=number if number < world else None,
        model=system.model,
        memory_bytes=int(system.memory_gb.value * 1e9),
    )


def _left_out(system: System, count: int) -> Iterator[str]:
    if count < system.devices:
        yield f"{system.devices - count} more devices, without ranks, are not drawn."


def _rates(system: System, world: int) -> Rates:
    """A step takes as long as over the slowest level that ranks are spread over."""
    steps = [] if system.rates.alpha_us is None else [system.rates.alpha_us]
    held = 1
    for hop in system.links:
        if hop.alpha_us is not None and world > held:
            steps.append(hop.alpha_us)
        held *= max(hop.members, 1)
    return dataclasses.replace(system.rates, alpha_us=max(steps, key=lambda fact: fact.value, default=None))


def _tree(system: System, devices: tuple[Device, ...]) -> tuple[tuple[Link, ...], tuple[Group, ...]]:
    """Groups level by level, each with the links of its members; the outermost first, as drawings want them."""
    members = [device.name for device in devices]
    links: list[Link] = []
    levels: list[tuple[Group, ...]] = []
    for hop in system.links:
        held = [tuple(members[at : at + hop.members]) for at in range(0, len(members), hop.members)]
        groups = tuple(_group(hop, number, len(held), inside) for number, inside in enumerate(held))
        links += [_link(member, group.name, hop) for group in groups for member in group.members]
        levels.append(groups)
        members = [group.name for group in groups]
    return tuple(links), tuple(group for groups in reversed(levels) for group in groups)


def _group(hop: Hop, number: int, beside: int, inside: tuple[str, ...]) -> Group:
    name = hop.to if beside == 1 else f"{hop.to} {number}"
    return Group(name=name, kind=hop.group, members=inside)


def _link(a: str, b: str, hop: Hop) -> Link:
    return Link(a=a, b=b, kind=hop.kind, gbps=hop.gbps.value, count=hop.count)


def _direct(
    system: System, devices: tuple[Device, ...], shape: tuple[int, ...], wraps: tuple[bool, ...]
) -> Iterator[Link]:
    """Links from device to device: every pair of a mesh, neighbours of a torus."""
    if system.graph == "mesh":
        for one, other in itertools.combinations(devices, 2):
            yield _link(one.name, other.name, system.links[0])
        return
    for number, device in enumerate(devices):
        for axis, length in enumerate(shape):
            step = math.prod(shape[axis + 1 :])
            at = number // step % length
            if at + 1 < length:
                yield _link(device.name, devices[number + step].name, system.links[0])
            elif wraps[axis] and length > 2:
                yield _link(device.name, devices[number - at * step].name, system.links[0])


def _slice(torus: Torus, world: int, name: str) -> tuple[int, ...]:
    """The most even axes whose product is ``world``; TopologyError where no slice of the torus has so many devices."""
    found = [
        axes
        for axes in _factors(world, len(torus.most))
        if all(axis <= most for axis, most in zip(axes, sorted(torus.most)))
    ]
    if not found:
        most = "x".join(map(str, torus.most))
        raise TopologyError(f"{name}: no slice of at most {most} has {world} devices; choose another --ranks")
    return min(found, key=lambda axes: (sum(axes), axes[::-1]))


def _factors(product: int, count: int) -> Iterator[tuple[int, ...]]:
    """Ascending tuples of ``count`` numbers with this product."""
    if count == 1:
        yield (product,)
        return
    for first in range(1, math.isqrt(product) + 1):
        if product % first == 0:
            yield from ((first, *rest) for rest in _factors(product // first, count - 1) if rest[0] >= first)


def _wraps(torus: Torus, shape: tuple[int, ...]) -> tuple[bool, ...]:
    rings = tuple(axis % torus.wrap == 0 for axis in shape)
    return tuple(all(rings) for _ in shape) if torus.every else rings
