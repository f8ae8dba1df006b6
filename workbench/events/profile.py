"""Where the time of one profiled call went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class RankProfile:
    """Where one profiled call's time went on one rank, in ms; ``overlap_ms`` is in compute and in communication."""

    rank: int
    whole_ms: float
    """On a GPU from the beginning of its first work to the end of its last."""
    compute_ms: float
    communication_ms: float
    overlap_ms: float
    gap_ms: float
    """Neither: on a GPU it idles, on processors what is no operator runs."""


RanKind = Literal["collective", "kernel", "operator"]


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What ran in a profiled call on rank 0, by name: how often, and how long together in ms; also collectives and
    messages that only other ranks called."""

    name: str
    kind: RanKind
    """``collective`` also for messages, ``kernel`` also for copies of a GPU."""
    calls: int
    ms: float


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One call under a profiler, as the candidate's processes tell it; ``note`` says why there is none, or less."""

    ranks: tuple[RankProfile, ...] = ()
    ran: tuple[Ran, ...] = ()
    note: str = ""
