"""What the paths between GPUs mean for pkwb: peer access, NVLinks and their counters, multicast."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

from workbench.checks.findings import Finding, note, ok, problem
from workbench.checks.look import GpuLook
from workbench.devices import NO_MULTICAST
from workbench.topology.nvml import Counters


def link_findings(look: GpuLook) -> Iterator[Finding]:
    """Everything about what links the GPUs."""
    return (finding for check in _CHECKS for finding in check(look))


def _p2p(look: GpuLook) -> Iterator[Finding]:
    kinds, labels = _kinds(look), [gpu.label for gpu in look.machine.gpus]
    if not kinds:
        return
    worst = next(kind for kind in _P2P_MEANING if kind in kinds.values())
    meaning = _P2P_MEANING[worst]
    state = note if worst == "none" else ok
    if len(set(kinds.values())) == 1:
        yield state("p2p", f"{worst} between all {len(labels)} GPUs", meaning)
        return
    yield state("p2p", "differs from pair to pair", meaning)
    for row, label in enumerate(labels):
        cells = (kinds[min(row, column), max(row, column)] for column in range(len(labels)) if column != row)
        others = (other for column, other in enumerate(labels) if column != row)
        yield ok(f"p2p of {label}", ", ".join(f"{other} {kind}" for other, kind in zip(others, cells)), "by peer")


def _kinds(look: GpuLook) -> dict[tuple[int, int], str]:
    """Paths by pairs of GPUs as NVML tells them, unless CUDA, which kernels depend on, tells otherwise."""
    peers = look.probe.peers if look.probe else []
    if len(peers) < len(look.machine.gpus):
        return dict(look.machine.paths)
    reached = {pair: peers[pair[0]][pair[1]] and peers[pair[1]][pair[0]] for pair in look.machine.paths}
    unknown = {"none": "other"}
    return {pair: unknown.get(kind, kind) if reached[pair] else "none" for pair, kind in look.machine.paths.items()}


_P2P_MEANING = {
    "none": "where it says none, a kernel cannot reach the peer's memory (no symmetric memory), and NCCL goes "
    "through the host",
    "other": "a kernel reads and writes its peers' memory, where it says other on a path that NVML does not tell",
    "PCIe": "a kernel reads and writes its peers' memory, at PCIe speed where it says PCIe",
    "NVLink": "a kernel reads and writes its peers' memory at NVLink speed",
}
"""By kind of path, the worst first."""


def _copies(look: GpuLook) -> Iterator[Finding]:
    copies = look.probe.copies if look.probe else []
    failed = [f"{gpu} to {(gpu + 1) % len(copies)}: {why}" for gpu, why in enumerate(copies) if why]
    if failed:
        yield problem("peer copies", "; ".join(failed), "GPU ranks will not work: the GPUs do not hand data on")
    elif copies:
        yield ok("peer copies", "64 MiB from each GPU to the next", "arrived whole")


def _nvlink(look: GpuLook) -> Iterator[Finding]:
    gpus = look.machine.gpus
    for links, up, rate in dict.fromkeys((gpu.links, gpu.links_up, gpu.link_gbps) for gpu in gpus):
        same = [gpu.label for gpu in gpus if (gpu.links, gpu.links_up, gpu.link_gbps) == (links, up, rate)]
        who = f"gpu {', '.join(same)}: " if len(same) < len(gpus) else ""
        if not links:
            yield ok("nvlink", f"{who}none", "peers are reached over PCIe, at tens of GB/s at most")
            continue
        speed = f", {rate:g} GB/s each, {rate * up:g} GB/s one way together" if rate else ", speed not known"
        yield _links_up(f"{who}{up} of {links} links up{speed}", up == links)


def _links_up(value: str, all_up: bool) -> Finding:
    if all_up:
        return ok("nvlink", value, "the peak that bandwidth is shown against")
    return note("nvlink", value, "less bandwidth than the machine could have: ask whoever runs it about the links")


def _counters(look: GpuLook) -> Iterator[Finding]:
    pairs = [(gpu.counters, after) for gpu, after in zip(look.machine.gpus, look.after) if gpu.links]
    copied = bool(look.probe and look.probe.copies and not any(look.probe.copies))
    if pairs:
        yield _counters_finding(pairs, copied)


def _counters_finding(pairs: Sequence[tuple[Counters | None, Counters | None]], copied: bool) -> Finding:
    """``copied``: whether bytes crossed the links between the two readings."""
    name, hidden = "nvlink counters", "so the rate on the wire is not shown"
    if not all(before and after for before, after in pairs):
        return note(name, "not offered by this driver", hidden)
    if not any(after and after.counting for _, after in pairs):
        return note(name, "present but read 0", f"not trusted, as is common in virtual machines, {hidden}")
    if all(before and after and after.sent > before.sent for before, after in pairs):
        return ok(name, "present, and they move", "the rate on the wire is shown between runs")
    if copied:
        return note(name, "present, but some stand still while data is copied", f"not trusted where they do, {hidden}")
    return ok(name, "present", "trusted as soon as they move; nothing crossed the links just now")


def _multicast(look: GpuLook) -> Iterator[Finding]:
    words = {True: "supported, and kept off", False: "not supported", None: "not known, and kept off"}
    against = [f"{name}={os.environ[name]}" for name, off in NO_MULTICAST.items() if os.environ.get(name, off) != off]
    meaning = "ranks run without NVLink multicast; kernels with multimem instructions do not work in them"
    value = words[look.probe.multicast if look.probe else None]
    if against:
        yield note("multicast", f"{value}; {', '.join(against)} is set here", f"{meaning}, whatever is set")
    else:
        yield ok("multicast", value, meaning)


_CHECKS: tuple[Callable[[GpuLook], Iterator[Finding]], ...] = (_p2p, _copies, _nvlink, _counters, _multicast)
