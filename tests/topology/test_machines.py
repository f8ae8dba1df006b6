"""Topologies of whole machines: what is found, what the links carry, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests import machines
from tests.nvml import FakeNvml, put_in_place
from workbench.errors import UsageError
from workbench.topology.cost import roofline
from workbench.topology.draw import draw
from workbench.topology.gpus import detect_gpus
from workbench.topology.ports import ports
from workbench.topology.terms import Work

GBPS = 25 * 18.0
"""One way of an H200's NVLinks."""
MACHINES: dict[str, tuple[Callable[[], FakeNvml], int, str, float, tuple[str, ...]]] = {
    "1 H200": (lambda: machines.hopper(1), 1, "switch", GBPS, ("NVSwitch",)),
    "2 H200": (lambda: machines.hopper(2), 2, "switch", GBPS, ("NVSwitch",)),
    "2 H200, virtual": (lambda: machines.virtual(2), 2, "switch", GBPS, ("NVSwitch",)),
    "4 H200": (lambda: machines.hopper(4), 4, "switch", GBPS, ("NVSwitch",)),
    "8 H200": (lambda: machines.hopper(8), 8, "switch", GBPS, ("NVSwitch",)),
    "4 A100, mesh": (machines.mesh, 4, "mesh", 3 * 100.0, ()),
    "4 H100 NVL, bridged": (machines.bridged, 4, "mesh", 300 + 63.02, ()),
    "one PCIe switch": (machines.one_switch, 4, "tree", 31.51, ("PCIe switch",)),
    "one host bridge": (machines.one_bridge, 4, "tree", 31.51, ("host",)),
    "two sockets": (
        machines.two_sockets,
        8,
        "tree",
        31.51,
        ("host", "NUMA 0", "NUMA 1", "PCIe switch 0", "PCIe switch 1", "PCIe switch 2", "PCIe switch 3"),
    ),
    "desktop": (machines.desktop, 2, "tree", 31.51, ("host", "socket 0", "socket 1")),
    "no permission": (machines.guarded, 2, "switch", GBPS, ("NVSwitch",)),
    "MIG": (machines.split, 2, "tree", 63.02, ("host",)),
}
"""By name: the machine, its GPUs, the graph, GB/s one way of a rank's links, and the groups."""


@pytest.mark.parametrize("name", MACHINES)
def test_links_of_a_machine(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Graph, groups and the rate of each rank's links are those of the machine, and the floor rests on them."""
    make, world, graph, gbps, groups = MACHINES[name]
    put_in_place(monkeypatch, make())
    topology = detect_gpus(world)
    moved = gbps * 1e9 if world > 1 else 0.0
    work = Work(world=world, dtype="bfloat16", needed=(moved,) * world, flops=0.0, hbm_bytes=0.0)

    assert (topology.graph, tuple(group.name for group in topology.groups)) == (graph, groups)
    assert [port.gbps if port else None for port in ports(topology)] == pytest.approx([gbps] * world)
    assert roofline(work, topology).term("link").seconds == pytest.approx(float(world > 1))


@pytest.mark.parametrize("width", [30, 60, 100])
@pytest.mark.parametrize("name", MACHINES)
def test_drawing_of_a_machine(monkeypatch: pytest.MonkeyPatch, name: str, width: int) -> None:
    """Every rank and every group is in the drawing, at any width."""
    make, world, _, _, groups = MACHINES[name]
    put_in_place(monkeypatch, make())
    lines = draw(detect_gpus(world), width)
    text = "\n".join(lines)

    assert max(map(len, lines)) <= width
    assert all(f"rank {rank}" in text or f"│ {rank} │" in text for rank in range(world))
    assert all(group in text for group in groups)


def test_numa_nodes_come_from_the_memory_that_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each GPU has the NUMA node whose memory is nearest, none where the driver tells of none or several."""
    put_in_place(monkeypatch, machines.hopper(4))
    assert [device.numa for device in detect_gpus(4).devices] == [0, 0, 1, 1]
    put_in_place(monkeypatch, machines.virtual(2))
    assert [device.numa for device in detect_gpus(2).devices] == [None, None]
    both = put_in_place(monkeypatch, machines.hopper(2))
    monkeypatch.setattr(both, "nvmlDeviceGetMemoryAffinity", lambda gpu, words, scope: [0b11, 0, 0, 0])
    assert [device.numa for device in detect_gpus(2).devices] == [None, None]


def test_what_is_between_switches_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver does not tell what joins PCIe switches and sockets: drawn, said, and left out of the floor."""
    put_in_place(monkeypatch, machines.two_sockets())
    topology = detect_gpus(8)
    work = Work(world=8, dtype="bfloat16", needed=(1e9,) * 8, flops=0.0, hbm_bytes=0.0, op="all_to_all")

    assert any("socket to socket, rate not known" in line for line in draw(topology, 80))
    assert any("PCIe switch 3 carry is not known" in note for note in roofline(work, topology).notes)


def test_instances_have_no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank on an instance of a GPU is told that no peer reaches it."""
    put_in_place(monkeypatch, machines.split())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "MIG-1")
    topology = detect_gpus(1)

    assert [link.kind for link in topology.links if link.kind.startswith("NVLink")] == []
    assert any("no peer reaches its memory" in line for line in draw(topology, 100))


def test_driver_that_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a driver the reason is the library's own word."""
    put_in_place(monkeypatch, machines.driverless())
    with pytest.raises(UsageError, match="links cannot be seen: NVML says Driver Not Loaded"):
        detect_gpus(2)
