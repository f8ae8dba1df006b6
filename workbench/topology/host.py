"""The machine's processors: NUMA nodes, sockets, cores that this process may use."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Node:
    """A NUMA node with the cores that this process may use."""

    number: int
    cores: frozenset[int]
    memory_bytes: int | None


@dataclass(frozen=True)
class Host:
    """One machine, as far as this process may use it."""

    name: str
    model: str
    nodes: tuple[Node, ...]
    sockets: int
    limit: float | None
    """Cores that a container may use at a time; None = all."""
    source: str

    @property
    def cores(self) -> int:
        """Cores that this process may use."""
        return sum(len(node.cores) for node in self.nodes)


def find_host(root: Path) -> Host:
    """Read ``root``/sys and ``root``/proc; where there is neither (macOS), one node with all cores."""
    allowed = _allowed_cores()
    nodes = _numa_nodes(root, allowed)
    source = "/sys/devices/system/node" if nodes else "count of cores"
    return Host(
        name=platform.node() or "this host",
        model=_cpu_model(root),
        nodes=nodes or (Node(0, allowed, _all_memory()),),
        sockets=_sockets(root, allowed),
        limit=_container_limit(root),
        source=source,
    )


def free_memory(root: Path = Path("/")) -> int | None:
    """Bytes that new programs could get (proc_meminfo(5)); None where the system does not tell."""
    words = next((line.split() for line in _read(root / "proc/meminfo").splitlines() if "MemAvailable:" in line), [])
    return int(words[1]) * 1024 if len(words) > 1 and words[1].isdigit() else None


def _allowed_cores() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def _numa_nodes(root: Path, allowed: frozenset[int]) -> tuple[Node, ...]:
    """NUMA nodes with usable cores (Documentation/ABI/stable/sysfs-devices-node of Linux)."""
    nodes = []
    for folder in (root / "sys/devices/system/node").glob("node[0-9]*"):
        cores = _core_list(_read(folder / "cpulist")) & allowed
        if cores:
            nodes.append(Node(int(folder.name[4:]), cores, _node_memory(folder)))
    return tuple(sorted(nodes, key=lambda node: node.number))


def _node_memory(folder: Path) -> int | None:
    """Bytes, from a line such as ``Node 0 MemTotal:  49368168 kB``."""
    for line in _read(folder / "meminfo").splitlines():
        words = line.split()
        if "MemTotal:" in words and words[-2].isdigit():
            return int(words[-2]) * 1024
    return None


def _core_list(text: str) -> frozenset[int]:
    """``0-3,8`` to {0, 1, 2, 3, 8}."""
    cores: set[int] = set()
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        cores.update(range(int(first), int(last or first) + 1))
    return frozenset(cores)


def _sockets(root: Path, allowed: frozenset[int]) -> int:
    """Packages with usable cores; 1 where the system does not tell."""
    folder = root / "sys/devices/system/cpu"
    packages = {_read(folder / f"cpu{core}/topology/physical_package_id").strip() for core in allowed}
    return len(packages - {""}) or 1


def _cpu_model(root: Path) -> str:
    for line in _read(root / "proc/cpuinfo").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.processor() or platform.machine()


def _all_memory() -> int | None:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None


def _container_limit(root: Path) -> float | None:
    """Cores by the control group's quota, version 2 then 1 (cgroup-v2.rst: cpu.max; sched-bwc.rst: cfs_quota_us)."""
    folder = root / "sys/fs/cgroup"
    words = _read(folder / "cpu.max").split() or [
        _read(folder / "cpu/cpu.cfs_quota_us").strip(),
        _read(folder / "cpu/cpu.cfs_period_us").strip(),
    ]
    if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]) > 0:
        return int(words[0]) / int(words[1])
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
