"""Figures that are not the judge's: effective bandwidth, the measured peak of the link, and what an attempt ran on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import time
from collections.abc import Sequence
from dataclasses import dataclass

import workbench
from problems.binding import figure
from problems.wording import figure_by_rank, largest
from workbench.errors import PkwbError
from workbench.events import Bandwidth, Floor, RankBandwidth, TimingProgress
from workbench.flow.sets import JudgeSet
from workbench.flow.zygote import Zygote
from workbench.judge.bandwidth import Peak, PeakKey, busbw, effective, load_peak, share, store_peak
from workbench.ranks.channel import Message
from workbench.target import Target
from workbench.topology.cost import as_floor, roofline
from workbench.topology.detect import detect
from workbench.topology.model import Topology
from workbench.topology.ports import Port, ports
from workbench.topology.terms import Work, work_of


@dataclass(frozen=True, kw_only=True)
class Yardstick:
    """What the figures of an attempt are held against."""

    peak: Peak | None = None
    """The best rate measured between these ranks."""
    floor: Floor | None = None
    """The least time, on the what-if topology if there is one."""
    ports: tuple[Port | None, ...] = ()
    """Each rank's links on paper, on the machine that runs."""


def find_yardstick(target: Target, peak: Peak | None) -> Yardstick:
    """Looks at this machine for floor and links; links that cannot be seen leave them out, not the figures."""
    here, work = None, work_of(target.binding)
    with contextlib.suppress(PkwbError):
        here = detect(target.world, target.device, peak)
    floor = _floor(work, target.what_if, here) if work is not None else None
    return Yardstick(peak=peak, floor=floor, ports=ports(here) if here is not None else ())


def _floor(work: Work, what_if: Topology | None, here: Topology | None) -> Floor | None:
    """The floor on the what-if system if there is one; what limits a time is the machine that it was taken on."""
    found = [roofline(work, topology) for topology in (what_if, here) if topology is not None]
    return as_floor(found[0], found[-1]) if found else None


def bandwidth_event(target: Target, figures: TimingProgress, held: Yardstick) -> Bandwidth | None:
    """Effective bandwidth of candidate and reference by the problem's needed bytes and the median times.

    None where the problem's bytes are not known; no share of the peak where no byte needs to move.
    """
    problem, binding = target.problem, target.binding
    if not problem.figures.known:
        return None
    needed = largest(binding, "needed_bytes")
    seconds, reference_s = figures.candidate_ms.median / 1e3, figures.reference_ms.median / 1e3
    collective = problem.collective
    size = figure(binding, collective.bytes) if collective else 0.0
    peak, ranks = held.peak, _by_rank(figure_by_rank(binding, "needed_bytes"), seconds, held)
    most = max(ranks, key=lambda one: one.needed_bytes)
    port = held.ports[most.rank] if most.rank < len(held.ports) else None
    return Bandwidth(
        needed_bytes=needed,
        reference_bytes=largest(binding, "reference_bytes"),
        gbps=most.gbps,
        reference_gbps=effective(needed, reference_s),
        busbw=busbw(collective.op, size, seconds, target.world) if collective else None,
        peak_gbps=peak.gbps if peak else None,
        share=most.share,
        label=peak.label if peak else f"{target.device}, no peak measured",
        floor=held.floor,
        nominal_gbps=most.nominal_gbps,
        nominal_share=most.nominal_share,
        nominal_label=port.label if port else "",
        ranks=ranks,
    )


def _by_rank(needed: Sequence[float], seconds: float, held: Yardstick) -> tuple[RankBandwidth, ...]:
    """Each rank by its own bytes and its own links; a call takes as long for all as for the slowest."""
    found = []
    for rank, count in enumerate(needed):
        gbps = effective(count, seconds)
        port = held.ports[rank] if rank < len(held.ports) else None
        nominal = port.gbps if port else None
        found.append(
            RankBandwidth(
                rank=rank,
                needed_bytes=count,
                gbps=gbps,
                share=share(gbps, held.peak.gbps) if held.peak and count else None,
                nominal_gbps=nominal,
                nominal_share=share(gbps, nominal) if count else None,
            )
        )
    return tuple(found)


async def link_peak(judges: JudgeSet, target: Target, torch: str, limit: float) -> Peak | None:
    """The peak of the ranks' link on this machine: cached, else measured now and cached; None for one rank."""
    if target.world == 1:
        return None
    key = PeakKey(device=target.device, world=target.world, torch=torch)
    found = await asyncio.to_thread(load_peak, key)
    if found is not None:
        return found
    answers = await judges.all({"op": "peak"}, limit)
    peak = _best(answers, target)
    with contextlib.suppress(PkwbError):  # a cache that cannot be written costs a measurement next time
        await asyncio.to_thread(store_peak, key, peak)
    return peak


def _best(answers: list[Message], target: Target) -> Peak:
    """The best busbw over the collectives; a call takes as long as its slowest rank, the best call counts."""
    size = answers[0]["bytes"]
    rates = {}
    for op in answers[0]["peak"]:
        slowest = [max(calls) for calls in zip(*(answer["peak"][op] for answer in answers))]
        rates[op] = busbw(op, size, min(slowest) / 1e9, target.world)
    op = max(rates, key=rates.__getitem__)
    name = {"cpu": "gloo", "cuda": "NCCL"}[target.device]
    where = " (CPU)" if target.device == "cpu" else ""
    return Peak(
        gbps=rates[op],
        label=f"{name} {op}, {target.world} ranks{where}",
        measured=time.time(),
        how=f"busbw of the best of {len(answers[0]['peak'][op])} calls on {size} bytes",
    )


def environment(target: Target, zygote: Zygote) -> dict[str, str]:
    """What an attempt ran on, for its record."""
    return {
        "host": platform.node(),
        "platform": platform.platform(),
        "cores": str(os.cpu_count()),
        "pkwb": workbench.__version__,
        "torch": zygote.torch,
        "ranks_python": zygote.python,
        "device": target.device,
        **({"shared_gpus": target.shared.name} if target.shared else {}),
        "world": str(target.world),
        "size": target.binding.size,
        "dtype": target.binding.dtype,
        "backend": target.backend,
    }
