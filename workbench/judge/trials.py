"""Speedup over trials that each time both sides anew: the mean of a series of calls, the ratio of two such means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from workbench.events import Ratio

_LEAST = 1e-9
"""The shortest time, in the samples' unit: a rank that lies may say 0."""
_WIDEST = 300.0
"""Half of the widest interval, as a logarithm: e to its power is still a number."""
_NORMAL = 1.96
FEWEST_PAIRS = 3
"""Pairs of blocks, or trials, from which an interval can be told: two that differ say almost nothing about a third."""
_STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23)
"""97.5% points of Student's t by degrees of freedom, from 1."""


def student(freedom: int) -> float:
    """The 97.5% point of Student's t for so many degrees of freedom, at least 1."""
    return _STUDENT[freedom - 1] if freedom <= len(_STUDENT) else _NORMAL + 2.5 / freedom


def slowest_rank(series: Sequence[Sequence[float]]) -> Sequence[float]:
    """Of P ranks' times of one series, those of the rank with the largest mean."""
    return max(series, key=fmean)


def speedup(reference: Sequence[Sequence[float]], candidate: Sequence[Sequence[float]]) -> Ratio:
    """Reference over candidate: the geometric mean of the trials' ratios of means, with a 95% interval.

    Trial k holds the calls' times on its slowest rank, of either side. The interval is Student's over the logarithms of
    the trials' ratios; fewer than ``FEWEST_PAIRS`` have none. Raises ``ValueError`` without a trial, or where one has
    no calls.
    """
    pairs = list(zip(reference, candidate, strict=True))
    if not pairs or not all(slow and fast for slow, fast in pairs):
        raise ValueError("a speedup needs at least one timed call of either side")
    logs = [math.log(_mean(slow) / _mean(fast)) for slow, fast in pairs]
    centre = fmean(logs)
    if len(logs) < FEWEST_PAIRS:
        return Ratio(median=math.exp(centre))
    half = min(student(len(logs) - 1) * stdev(logs) / math.sqrt(len(logs)), _WIDEST)
    return Ratio(median=math.exp(centre), low=math.exp(centre - half), high=math.exp(centre + half))


def _mean(calls: Sequence[float]) -> float:
    return max(fmean(calls), _LEAST)
