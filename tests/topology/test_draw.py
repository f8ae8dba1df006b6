"""Drawings of topologies: they fit, every rank is there, and what is linked is drawn linked."""

from __future__ import annotations

import itertools
import json

import pytest

from workbench.topology.catalogue import find_system, systems
from workbench.topology.draw import draw
from workbench.topology.model import Device, Group, Link, Topology, to_json
from workbench.topology.placing import place
from workbench.topology.system import System

WIDTHS = range(30, 121)


def _gpus(world: int) -> tuple[Device, ...]:
    return tuple(
        Device(name=f"cuda:{rank}", kind="gpu", rank=rank, model="H200", memory_bytes=141 * 10**9, numa=rank // 4)
        for rank in range(world)
    )


def _host(world: int) -> Topology:
    devices = tuple(Device(name=f"rank {rank}", kind="cpu", rank=rank, numa=rank % 2, cores=4) for rank in range(world))
    numa = tuple(
        Group(
            name=f"NUMA {node}",
            kind="numa",
            members=tuple(d.name for d in devices if d.numa == node),
            detail="16 cores",
        )
        for node in (0, 1)
    )
    host = Group(
        name="box", kind="host", members=("NUMA 0", "NUMA 1"), detail="A Processor With A Long Name, 2 sockets"
    )
    links = tuple(Link(a=device.name, b="box", kind="gloo over loopback", gbps=3.2) for device in devices)
    return Topology(
        name="host", graph="host", devices=devices, links=links, groups=(host, *numa), notes=("Measured by hand.",)
    )


def _switch(world: int) -> Topology:
    devices = _gpus(world)
    switch = Group(name="NVSwitch", kind="switch", members=tuple(device.name for device in devices))
    links = tuple(Link(a=device.name, b="NVSwitch", kind="NVLink", gbps=25, count=18) for device in devices)
    return Topology(name="switch", graph="switch", devices=devices, links=links, groups=(switch,))


def _mesh(world: int) -> Topology:
    devices = _gpus(world)
    pairs = itertools.combinations(devices, 2)
    links = tuple(Link(a=a.name, b=b.name, kind="xGMI", gbps=64) for a, b in pairs)
    return Topology(name="mesh", graph="mesh", devices=devices, links=links)


def _tree(world: int) -> Topology:
    devices = _gpus(world)
    switches = tuple(
        Group(name=f"switch {node}", kind="switch", members=tuple(d.name for d in devices if d.numa == node))
        for node in (0, 1)
    )
    links = [Link(a=device.name, b=f"switch {device.numa}", kind="PCIe 5.0 x16", gbps=63) for device in devices]
    links += [Link(a=switch.name, b="root", kind="PCIe 5.0 x16", gbps=63) for switch in switches]
    root = Group(name="root", kind="host", members=("switch 0", "switch 1"))
    return Topology(name="tree", graph="tree", devices=devices, links=tuple(links), groups=(root, *switches))


MAKERS = {"host": _host, "switch": _switch, "mesh": _mesh, "tree": _tree}


@pytest.mark.parametrize("world", range(1, 9))
@pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
def test_fits_every_width_and_shows_every_rank(make, world: int) -> None:
    """From 30 to 120 columns no line is too wide, and each of 1 to 8 ranks is in the drawing."""
    topology = make(world)
    for width in WIDTHS:
        lines = draw(topology, width)
        assert max(map(len, lines)) <= width
        text = "\n".join(lines)
        assert all(f"rank {rank}" in text or f"│ {rank} │" in text for rank in range(world))


@pytest.mark.parametrize("world", range(1, 9))
@pytest.mark.parametrize("make", MAKERS.values(), ids=list(MAKERS))
def test_plain_terminals(make, world: int) -> None:
    """The variant for terminals without box characters is pure ASCII and of the same shape."""
    for width in (30, 47, 80, 120):
        boxes, plain = draw(make(world), width), draw(make(world), width, ascii=True)
        assert all(line.isascii() for line in plain)
        assert [len(line) for line in boxes] == [len(line) for line in plain]
        assert not any("?" in line for line in plain)


@pytest.mark.parametrize("make", [_host, _switch], ids=["host", "switch"])
def test_every_rank_hangs_on_the_trunk(make) -> None:
    """At every width each rank's box has a line down to the bus, and every bus reaches the trunk."""
    for world, width in itertools.product(range(1, 9), WIDTHS):
        lines = draw(make(world), width)
        buses = [line for line in lines if "┙" in line]
        assert sum(line.count("┷") + line.count("┙") for line in buses) == world
        assert all(line[0] in "┣┗" for line in buses)
        assert [line[0] for line in buses].count("┗") == 1


@pytest.mark.parametrize("world", range(2, 9))
def test_full_mesh_marks_every_pair(world: int) -> None:
    """A full mesh shows a mark for each of its P(P-1)/2 pairs, and what the mark means."""
    lines = draw(_mesh(world), 60)
    assert sum(line.count("●") for line in lines[:world]) == world * (world - 1) // 2
    assert lines[world:] == ["● xGMI, 64 GB/s one way"]


def test_missing_and_different_links_are_told_apart() -> None:
    """Bridged pairs, a slower link between them, and pairs without a link look different without colour."""
    devices = _gpus(4)
    bridges = [Link(a=f"cuda:{a}", b=f"cuda:{a + 1}", kind="NVLink bridge", gbps=50, count=6) for a in (0, 2)]
    slow = Link(a="cuda:1", b="cuda:2", kind="PCIe")
    drawing = draw(Topology(name="pairs", graph="mesh", devices=devices, links=(*bridges, slow)), 60)
    assert drawing == [
        "rank 0 ─┐",
        "rank 1 ─●─┐",
        "rank 2 ─┼─◆─┐",
        "rank 3 ─┼─┼─●─╸",
        "● NVLink bridge, 6 × 50 = 300 GB/s one way",
        "◆ PCIe, rate not known",
    ]


def test_host_by_eye() -> None:
    """Two ranks on two NUMA nodes look as a person would draw them."""
    assert draw(_host(2), 44) == [
        "box · A Processor With A Long Name, 2",
        "sockets",
        "┏━ gloo over loopback, 3.2 GB/s one way",
        "┃ ┌ NUMA 0 · 16 cores ─────────────────────┐",
        "┃ │ ┌─────────┐                            │",
        "┃ │ │ rank 0  │                            │",
        "┃ │ │ 4 cores │                            │",
        "┃ │ └────┬────┘                            │",
        "┣━┿━━━━━━┙                                 │",
        "┃ └────────────────────────────────────────┘",
        "┃ ┌ NUMA 1 · 16 cores ─────────────────────┐",
        "┃ │ ┌─────────┐                            │",
        "┃ │ │ rank 1  │                            │",
        "┃ │ │ 4 cores │                            │",
        "┃ │ └────┬────┘                            │",
        "┗━┿━━━━━━┙                                 │",
        "  └────────────────────────────────────────┘",
        "Measured by hand.",
    ]


def test_many_ranks_in_a_narrow_pane_stay_short() -> None:
    """Eight ranks in 30 columns take no more than 16 lines: their boxes shrink to numbers, said once what each is."""
    lines = draw(_switch(8), 30)
    assert len(lines) <= 16
    assert any("ranks, H200 141 GB each" in line for line in lines)


@pytest.mark.parametrize("system", systems(), ids=lambda system: system.name)
@pytest.mark.parametrize("width", [30, 36, 46, 78, 120])
def test_nothing_is_cut(system: System, width: int) -> None:
    """Of no system of the catalogue a name or a figure is cut off, nor what goes on at a rank's links."""
    told = ("eff 212 GB/s", "out 123 in 45.6")
    for world in {1, 2, 4, min(8, system.devices)}:
        lines = draw(place(system, world), width, live=dict.fromkeys(range(world), told))
        assert all(len(line) <= width and "…" not in line for line in lines)
        counts = [sum(line.count(text) for line in lines) for text in told]
        assert system.graph == "torus" or counts == [world, world]


def test_planes_of_a_torus() -> None:
    """A slice of a torus is drawn plane by plane, each device joined to its neighbours, with the links' rate."""
    lines = draw(place(find_system("tpu-v5p"), 8), 80)
    assert lines[2:10] == [
        "plane 1 of 2",
        " [0]─[1]",
        "  │   │",
        " [2]─[3]",
        "plane 2 of 2",
        " [4]─[5]",
        "  │   │",
        " [6]─[7]",
    ]
    assert "ICI, 90 GB/s one way" in " ".join(lines[:2])
    assert "no axis is closed to a ring" in " ".join(lines[:2])
    longer = draw(place(find_system("tpu-v5p"), 16), 80)
    assert [line for line in longer if line.endswith("─")] == []
    assert " [8]──[9]──[10]─[11]" in longer


def test_rings_of_a_torus() -> None:
    """Axes that are closed to rings have a mark at both ends, and a slice that is too wide says so."""
    lines = draw(place(find_system("tpu-v5p"), 64), 60)
    assert "~ closes axis 1, 2, 3 to a ring" in " ".join(lines[:4])
    assert sum(line.startswith("~[") and line.endswith("~") for line in lines) == 16
    assert "too many devices to draw at this width" in draw(place(find_system("tpu-v6e"), 256), 60)


def test_devices_without_links_are_drawn() -> None:
    """Devices of which no link is known are still shown."""
    assert any("rank 1" in line for line in draw(Topology(name="two", graph="mesh", devices=_gpus(2)), 40))


def test_json_has_devices_links_and_rates() -> None:
    """The JSON form names devices, links and their one-way rates."""
    data = json.loads(to_json(_switch(2)))
    assert [device["name"] for device in data["devices"]] == ["cuda:0", "cuda:1"]
    link = {"a": "cuda:0", "b": "NVSwitch", "kind": "NVLink", "gbps": 25, "count": 18, "slot": False}
    assert data["links"][0] == link
