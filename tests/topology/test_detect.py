"""Detection: the machine's processors and the ranks on them, read from a /sys of our own."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

from tests.rates import rate, report
from workbench.errors import UsageError
from workbench.judge.bandwidth import Peak, PeakKey, store_peak
from workbench.judge.links import store_ceilings
from workbench.topology import host
from workbench.topology.detect import detect
from workbench.topology.draw import draw

PEAK = Peak(gbps=3.217, label="gloo all-reduce, 4 ranks", measured=1.0, how="16 MiB, median of 20 calls")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine of 2 sockets, 2 NUMA nodes with 4 cores each, and a third node that has memory alone."""
    root = tmp_path / "root"
    for node, cores in enumerate(("0-3", "4-5,6,7", "")):
        _write(root / f"sys/devices/system/node/node{node}/cpulist", cores + "\n")
        _write(root / f"sys/devices/system/node/node{node}/meminfo", f"Node {node} MemTotal:       125000000 kB\n")
    for core in range(8):
        _write(root / f"sys/devices/system/cpu/cpu{core}/topology/physical_package_id", f"{core // 4}\n")
    _write(root / "proc/cpuinfo", "processor : 0\nmodel name\t: Test CPU 9000\n")
    monkeypatch.setattr(host, "_allowed_cores", lambda: frozenset(range(8)))
    return root


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_ranks_spread_over_numa_nodes(server: Path) -> None:
    """Four ranks on two nodes: two on each, two cores a rank; a node without cores gets none."""
    topology = detect(4, "cpu", PEAK, server)
    assert [device.numa for device in topology.devices] == [0, 0, 1, 1]
    assert {device.cores for device in topology.devices} == {2}
    assert [group.name for group in topology.groups[1:]] == ["NUMA 0", "NUMA 1"]
    assert topology.groups[0].detail == "Test CPU 9000, 2 sockets, 8 cores"
    assert topology.groups[1].detail == "4 cores, 128 GB"
    assert any("not pinned" in note for note in topology.notes)


def test_links_carry_the_measured_rate(server: Path) -> None:
    """Each rank's link shows the measured rate and says that it is a CPU figure."""
    topology = detect(4, "cpu", PEAK, server)
    assert [(link.kind, link.gbps) for link in topology.links] == [("gloo over loopback", 3.22)] * 4
    assert "Link: gloo all-reduce, 4 ranks, 16 MiB, median of 20 calls." in topology.notes[0]
    assert "CPU figure" in topology.notes[0]


def test_rate_comes_from_the_cache(server: Path) -> None:
    """A rate measured in an earlier sitting is shown before the ranks are up; without one it is called unknown."""
    assert detect(4, "cpu", root=server).links[0].gbps is None
    store_peak(PeakKey(device="cpu", world=4, torch="2.13.0"), PEAK)
    assert detect(4, "cpu", root=server).links[0].gbps == 3.22
    assert detect(2, "cpu", root=server).links[0].gbps is None


def test_a_slow_link_is_not_rounded_away(server: Path) -> None:
    """Rates are told to three digits, however low, and a floor can be worked out from them."""
    links = detect(4, "cpu", dataclasses.replace(PEAK, gbps=0.0012345), server).links
    assert links[0].gbps == 0.00123


def test_measured_transfers_are_told(server: Path) -> None:
    """What 'pkwb bench links' measured between as many ranks is told with the machine, one way."""
    both = rate("shared memory", 20.7, two_way=True)
    found = dataclasses.replace(report(rate("gloo send/recv", 2.9), rate("shared memory", 8.62), both), device="cpu")
    store_ceilings(found)

    words = "measured on this machine by 'pkwb bench links': gloo send/recv 2.9, shared memory 8.62."
    assert any(note.endswith(words) for note in detect(2, "cpu", root=server).notes)
    assert not any("bench links" in note for note in detect(4, "cpu", root=server).notes)


def test_one_rank_has_no_links(server: Path) -> None:
    """Alone, a rank has nothing to be linked with, and the notes say so."""
    topology = detect(1, "cpu", root=server)
    assert topology.links == ()
    assert topology.notes[0] == "One rank: nothing moves between ranks."


def test_more_ranks_than_cores(server: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On two usable cores eight ranks are crowded: the notes say what that does to times."""
    monkeypatch.setattr(host, "_allowed_cores", lambda: frozenset({0, 5}))
    topology = detect(8, "cpu", root=server)
    assert {device.cores for device in topology.devices} == {1}
    assert any("8 ranks share 2 cores" in note for note in topology.notes)


@pytest.mark.parametrize(
    ("files", "limited"),
    [
        ({"cpu.max": "200000 100000\n"}, True),
        ({"cpu.max": "max 100000\n"}, False),
        ({"cpu/cpu.cfs_quota_us": "200000\n", "cpu/cpu.cfs_period_us": "100000\n"}, True),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, False),
    ],
    ids=["v2", "v2 without limit", "v1", "v1 without limit"],
)
def test_limit_of_a_container(server: Path, files: dict[str, str], limited: bool) -> None:
    """In a container with a limit of two cores, two ranks count on one core each, and the notes name the limit."""
    for name, text in files.items():
        _write(server / "sys/fs/cgroup" / name, text)
    topology = detect(2, "cpu", root=server)
    assert topology.devices[0].cores == (1 if limited else 4)
    assert any("may use 2 cores at a time" in note for note in topology.notes) == limited


def test_machine_without_sys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the kernel tells nothing (macOS), all cores are on one node."""
    monkeypatch.setattr(host, "_allowed_cores", lambda: frozenset(range(10)))
    topology = detect(2, "cpu", root=tmp_path / "empty")
    assert [device.cores for device in topology.devices] == [5, 5]
    assert "1 socket, 10 cores" in topology.groups[0].detail


@pytest.mark.parametrize("world", [1, 2, 8])
def test_this_machine(world: int) -> None:
    """The machine that runs the tests is found and drawn."""
    text = "\n".join(draw(detect(world, "cpu"), 80))
    assert f"rank {world - 1}" in text or f"│ {world - 1} │" in text


def test_other_devices_say_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where NVML cannot be asked, the message says so."""
    monkeypatch.setitem(sys.modules, "pynvml", None)
    with pytest.raises(UsageError, match="the GPUs' links cannot be seen"):
        detect(2, "cuda")


def test_detection_is_light() -> None:
    """Looking for the topology loads neither torch nor Textual nor numpy."""
    import subprocess

    code = "import sys, workbench.topology.detect, workbench.topology.draw as d; "
    code += "sys.exit(bool({'torch', 'textual', 'numpy'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
