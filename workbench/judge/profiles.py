"""Where the time of one profiled call went on each rank, from the spans that its profiler told. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from workbench.events import Profile, Ran, RanKind, RankProfile

Spans = Sequence[tuple[str, str, int, int]]
"""As :data:`workbench.ranks.profiled.Span`: name, kind, begin, end in ns."""
MOST_RAN = 12
"""Names that are told, those with most time first."""
_MOVES = re.compile(r"nccl|nvshmem|c10d|symm_?mem|symmetric_memory|one_shot|two_shot|PtoP|Peer", re.IGNORECASE)
"""Names of kernels and copies that move data between ranks, as libraries name theirs."""
_WRAPPER = re.compile(r"c10d::(?P<name>\w+?)_?")
"""Operators that every collective and message of torch.distributed goes through."""
_ARGUMENTS = re.compile(r"(?<=[\w>])\(.*$")
_CALLED = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "_allgather_base": "all_gather_into_tensor",
    "_reduce_scatter_base": "reduce_scatter_tensor",
    "alltoall": "all_to_all",
    "alltoall_base": "all_to_all_single",
}
"""Names of those operators as torch.distributed has them, where that is another name."""
_NO_GPU = "the profiler saw no work on the GPUs"

Interval = tuple[int, int]


def make_profile(ranks: Sequence[Spans], device: str) -> Profile:
    """The profile of a call from all ranks' spans, on ranks of the type ``device``."""
    ran = _ran_anywhere(ranks, device)
    if device == "cuda" and not all(any(kind == "device" for _, kind, _, _ in spans) for spans in ranks):
        return Profile(ran=ran, note=_NO_GPU)
    return Profile(ranks=tuple(_one_rank(rank, spans, device) for rank, spans in enumerate(ranks)), ran=ran)


def _one_rank(rank: int, spans: Spans, device: str) -> RankProfile:
    timed = [span for span in spans if device == "cpu" or span[1] == "device"]
    moving = _union((begin, end) for name, kind, begin, end in timed if _moves(name, kind))
    working = _union((begin, end) for name, kind, begin, end in timed if not _moves(name, kind))
    busy = _union([*moving, *working])
    begin = busy[0][0] if busy and device == "cuda" else 0
    whole = busy[-1][1] - begin if busy else 0
    return RankProfile(
        rank=rank,
        whole_ms=whole / 1e6,
        compute_ms=_length(working) / 1e6,
        communication_ms=_length(moving) / 1e6,
        overlap_ms=(_length(moving) + _length(working) - _length(busy)) / 1e6,
        gap_ms=(whole - _length(busy)) / 1e6,
    )


def _moves(name: str, kind: str) -> bool:
    return kind == "message" or (kind == "device" and _MOVES.search(name) is not None)


def _union(intervals: Iterable[Interval]) -> list[Interval]:
    """Intervals without overlap, in order."""
    found: list[Interval] = []
    for begin, end in sorted(intervals):
        if found and begin <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((begin, end))
    return found


def _length(intervals: Sequence[Interval]) -> int:
    return sum(end - begin for begin, end in intervals)


def _ran_anywhere(ranks: Sequence[Spans], device: str) -> tuple[Ran, ...]:
    """What ran on rank 0, and before it collectives and messages that only other ranks called."""
    first, *others = [_ran(spans, device) for spans in ranks] or [()]
    called = {one.name: one for ran in reversed(others) for one in ran if one.kind == "collective"}
    seen = {one.name for one in first}
    return (*(one for name, one in called.items() if name not in seen), *first)[:MOST_RAN]


def _ran(spans: Spans, device: str) -> tuple[Ran, ...]:
    """What ran, by name: collectives and messages as they were called, then kernels and copies, or operators."""
    totals: dict[tuple[str, RanKind], list[int]] = {}
    for name, kind, begin, end in spans:
        key = _counted(name, kind, device)
        if key is not None:
            entry = totals.setdefault(key, [0, 0])
            entry[0] += 1
            entry[1] += end - begin
    found = [Ran(name=name, kind=kind, calls=calls, ms=ns / 1e6) for (name, kind), (calls, ns) in totals.items()]
    return tuple(sorted(found, key=lambda one: (one.kind != "collective", -one.ms))[:MOST_RAN])


def _counted(name: str, kind: str, device: str) -> tuple[str, RanKind] | None:
    """Under which name and kind a span is counted; a backend's own span of a collective is not, its wrapper is."""
    if kind == "message":
        wrapper = _WRAPPER.fullmatch(name)
        return (_CALLED.get(wrapper["name"], wrapper["name"].strip("_")), "collective") if wrapper else None
    if kind == "device":
        return _ARGUMENTS.sub("", name), "kernel"
    return (name, "operator") if device == "cpu" else None
