"""The last word on an attempt."""

from __future__ import annotations

from dataclasses import dataclass, field

from workbench.events.bandwidth import Bandwidth
from workbench.events.base import Event
from workbench.events.builds import BuildSummary
from workbench.events.profile import Profile
from workbench.events.ranks import RankSummary, Status
from workbench.events.timing import Cache, LaunchTime, Protocol, Ratio, Spread


@dataclass(frozen=True, kw_only=True)
class Verdict(Event):
    """The last word on an attempt; the last line of ``pkwb eval --json``."""

    status: Status
    problem: str
    reason: str
    ranks: tuple[RankSummary, ...]
    trials_passed: int = 0
    trials: int = 0
    speedup: Ratio | None = None
    candidate_ms: Spread | None = None
    reference_ms: Spread | None = None
    first_call_ms: float | None = None
    load_ms: float | None = None
    peak_rss_bytes: int | None = None
    bandwidth: Bandwidth | None = None
    not_timed: str = ""
    """Why there are no times, whatever was asked for: ``2 ranks share a GPU``."""
    skew: float | None = None
    protocol: Protocol = "pkwb"
    cache: Cache | None = None
    graph: bool = False
    launch_ms: LaunchTime | None = None
    clock_mhz: float | None = None
    flags: tuple[str, ...] = ()
    profile: Profile | None = None
    """Where asked for, of a call after all that were timed."""
    phases_ms: dict[str, float] = field(default_factory=dict)
    builds: tuple[BuildSummary, ...] = ()
    candidate_samples_ms: tuple[tuple[float, ...], ...] = ()
    reference_samples_ms: tuple[tuple[float, ...], ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
