"""Figures that are not the judge's: effective bandwidth, the measured peak of the link, and what an attempt ran on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import platform
import time

import workbench
from problems.binding import figure
from problems.wording import largest
from workbench.errors import PkwbError
from workbench.events import Bandwidth, Floor
from workbench.flow.sampling import TimingFigures
from workbench.flow.sets import JudgeSet
from workbench.flow.zygote import Zygote
from workbench.judge.bandwidth import Peak, PeakKey, busbw, effective, load_peak, share, store_peak
from workbench.ranks.channel import Message
from workbench.target import Target
from workbench.topology.cost import as_floor, roofline
from workbench.topology.detect import detect
from workbench.topology.terms import work_of


def find_floor(target: Target, peak: Peak | None) -> Floor | None:
    """The floor on the what-if topology, else on this machine, which is looked at; None where nothing can be said."""
    work = work_of(target.binding)
    if work is None:
        return None
    with contextlib.suppress(PkwbError):  # links that cannot be seen leave the floor out, not the figures
        return as_floor(roofline(work, target.what_if or detect(target.world, target.device, peak)))
    return None


def bandwidth_event(
    target: Target, figures: TimingFigures, peak: Peak | None, floor: Floor | None = None
) -> Bandwidth | None:
    """Effective bandwidth of candidate and reference by the problem's needed bytes and the median times.

    None where the problem's bytes are not known; no share of the peak where no byte needs to move.
    """
    problem, binding = target.problem, target.binding
    if not problem.figures.known:
        return None
    needed = largest(binding, "needed_bytes")
    seconds, reference_s = figures.candidate.median / 1e3, figures.reference.median / 1e3
    gbps = effective(needed, seconds)
    collective = problem.collective
    size = figure(binding, collective.bytes) if collective else 0.0
    return Bandwidth(
        needed_bytes=needed,
        reference_bytes=largest(binding, "reference_bytes"),
        gbps=gbps,
        reference_gbps=effective(needed, reference_s),
        busbw=busbw(collective.op, size, seconds, target.world) if collective else None,
        peak_gbps=peak.gbps if peak else None,
        share=share(gbps, peak.gbps) if peak and needed else None,
        label=peak.label if peak else f"{target.device}, no peak measured",
        floor=floor,
    )


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
        "world": str(target.world),
        "size": target.binding.size,
        "dtype": target.binding.dtype,
        "backend": target.backend,
    }
