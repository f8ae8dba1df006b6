"""Times of calls and the speedup over the reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.events.base import Event

Cache = Literal["cold", "warm"]
"""Whether every timed call found the device's caches full of other data, or as the call before left them."""
Protocol = Literal["pkwb", "pkb"]
"""How calls were timed: pkwb's way, or ParallelKernelBench's."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Median with 10th and 90th percentile, in milliseconds."""

    median: float
    p10: float
    p90: float


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """Speedup over the reference (above 1 = the candidate is faster) with its 95% interval.

    Too few measurements for an interval: ``low`` and ``high`` are None, both.
    """

    median: float
    low: float | None = None
    high: float | None = None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both bounds; None where there is no interval."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def differs(self) -> bool:
        """Whether the interval leaves 1 out; otherwise there is no measured difference."""
        return self.interval is not None and not self.interval[0] <= 1.0 <= self.interval[1]

    @property
    def sure(self) -> float:
        """What the speedup is at least, by its interval; 0 where there is none."""
        return self.low or 0.0


@dataclass(frozen=True, kw_only=True)
class LaunchTime:
    """Median milliseconds of the host until a call returned, while its work waited in the device's queue."""

    candidate: float
    reference: float


@dataclass(frozen=True, kw_only=True)
class TimingProgress(Event):
    """The figures after some samples, times in ms; replaces the one before.

    ``skew`` is the median over samples of (slowest - fastest rank) / slowest.
    ``graph``: calls were replayed from a CUDA graph. ``launch_ms`` and ``clock_mhz``, the median clock of the GPUs'
    multiprocessors over all samples, are None on CPU ranks and where they could not be measured.
    """

    samples: int
    total: int
    candidate_ms: Spread
    reference_ms: Spread
    speedup: Ratio
    rank_ms: tuple[float, ...]
    skew: float
    protocol: Protocol = "pkwb"
    cache: Cache = "warm"
    graph: bool = False
    launch_ms: LaunchTime | None = None
    clock_mhz: float | None = None
    flags: tuple[str, ...] = ()
