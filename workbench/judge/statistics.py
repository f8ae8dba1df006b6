"""Statistics of timed calls: sample i is the slowest rank's; speedup with an interval that survives drifting clocks.

A matrix of times has one row a rank and one column a timed call, P x n, all in one unit.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.events import Ratio, Spread
from workbench.judge.pitch import ALIKE_PROCESSES, Unlike
from workbench.judge.trials import FEWEST_PAIRS, student

Array = NDArray[np.float64]

RESAMPLES = 1000
NOISY = 0.05
SKEWED = 0.10
FEW_SAMPLES = 30

ALIKE = 0.0125
"""Standard deviation, as a share of the time, by which two processes that run the same code are taken to differ: their
memory lies elsewhere, and no number of samples within one process shows it."""
_LEAST = 1e-9
"""What counts as the shortest time, in the samples' unit: a coarse clock, or a rank that lies, may say 0."""
_NORMAL = 1.96


def over_ranks(matrix: ArrayLike) -> Array:
    """P x n times to n: a call takes as long as its slowest rank (nccl-tests, per-iteration maximum)."""
    times = _matrix(matrix)
    slowest: Array = times.max(axis=0)
    return slowest


def rank_medians(matrix: ArrayLike) -> tuple[float, ...]:
    """Each rank's own median time."""
    return tuple(float(value) for value in np.median(_matrix(matrix), axis=1))


def spread(samples: ArrayLike) -> Spread:
    """Median, 10th and 90th percentile (linear between samples) of at least one sample, in the samples' unit."""
    low, middle, high = np.quantile(_samples(samples), (0.1, 0.5, 0.9))
    return Spread(median=float(middle), p10=float(low), p90=float(high))


def skew(matrix: ArrayLike) -> float:
    """Median over calls of (slowest rank - fastest rank) / slowest rank; 0 for one rank."""
    times = np.maximum(_matrix(matrix), _LEAST)
    slowest = times.max(axis=0)
    return float(np.median((slowest - times.min(axis=0)) / slowest))


def flags(matrix: ArrayLike) -> tuple[str, ...]:
    """What to hold against a P x n matrix of times: ``few-samples`` (n < 30), ``noisy`` (interquartile range over
    median above 5%), ``skewed`` (skew above 10%)."""
    times = over_ranks(matrix)
    first, middle, third = np.quantile(times, (0.25, 0.5, 0.75))
    tests = {
        "few-samples": times.size < FEW_SAMPLES,
        "noisy": third - first > NOISY * middle,
        "skewed": skew(matrix) > SKEWED,
    }
    return tuple(name for name, raised in tests.items() if raised)


def speedup(
    reference: Sequence[ArrayLike], candidate: Sequence[ArrayLike], seed: int, unlike: Unlike = ALIKE_PROCESSES
) -> Ratio:
    """Reference time over candidate time, with a 95% interval, from blocks measured side by side.

    Block k of the reference and block k of the candidate were measured one after the other, so that drift of the
    machine's clocks mostly cancels between the two. The figure is the ratio of the two blocks' medians, averaged over
    pairs (geometric mean). The interval is a hierarchical bootstrap: pairs are drawn with replacement, then samples
    within each block (Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 3.8; Saravanan,
    Berman and Sober 2020 for the two levels). A bootstrap over few pairs is too narrow by sqrt(K / (K - 1)) and by
    normal instead of Student quantiles; the interval is stretched by these as far as the pairs differ by more than
    their samples explain. What no sample shows is added in quadrature: ``ALIKE``, and one step of each side's clock.
    What is known of how ``unlike`` the two processes are moves the bound that it concerns.

    Extra blocks of one side and pairs with less than half of the largest pair's samples are left out. Fewer than
    ``FEWEST_PAIRS`` give a figure without an interval. Raises ``ValueError`` without any pair. The same seed gives the
    same interval.
    """
    pairs = _pairs(reference, candidate)
    ratios = np.array([np.log(np.median(slow) / np.median(fast)) for slow, fast in pairs])
    centre = float(ratios.mean())
    if len(pairs) < FEWEST_PAIRS:
        return Ratio(median=float(np.exp(centre)))
    generator = np.random.default_rng(seed)
    within = np.stack([_resample(slow, generator) - _resample(fast, generator) for slow, fast in pairs])
    means = _draw_pairs(within, generator)
    stretch = _stretch(ratios, float(within.var(axis=1).mean()))
    low, high = np.quantile(means - centre, (0.025, 0.975)) * stretch
    unseen = _unseen(pairs)
    return Ratio(
        median=float(np.exp(centre)),
        low=float(np.exp(centre - np.hypot(min(low, 0.0), unseen) - unlike.faster)),
        high=float(np.exp(centre + np.hypot(max(high, 0.0), unseen) + unlike.slower)),
    )


def _pairs(reference: Sequence[ArrayLike], candidate: Sequence[ArrayLike]) -> list[tuple[Array, Array]]:
    pairs = [(_positive(slow), _positive(fast)) for slow, fast in zip(reference, candidate, strict=False)]
    largest = max((min(slow.size, fast.size) for slow, fast in pairs), default=0)
    if not largest:
        raise ValueError("a speedup needs at least one timed call of either side")
    return [(slow, fast) for slow, fast in pairs if 2 * min(slow.size, fast.size) >= largest]


def _unseen(pairs: list[tuple[Array, Array]]) -> float:
    """Half of a 95% interval of what differs between two processes and lies below a clock's step, as a share."""
    steps = [step(times) / float(np.median(times)) for times in map(np.concatenate, zip(*pairs))]
    return _NORMAL * float(np.sqrt(ALIKE**2 + np.square(steps).mean()))


def step(samples: ArrayLike) -> float:
    """The step of the clock that took the samples, in their unit: the median distance between neighbouring values in
    their middle half; 0 where all are equal. Without visible steps it is small beside the samples' own spread."""
    times = _samples(samples)
    first, third = np.quantile(times, (0.25, 0.75))
    values = np.unique(times[(times >= first) & (times <= third)])
    return float(np.median(np.diff(values))) if values.size > 1 else 0.0


def _positive(block: ArrayLike) -> Array:
    """Times above 0, so that their ratio exists."""
    times: Array = np.maximum(np.asarray(block, np.float64).ravel(), _LEAST)
    return times


def _resample(block: Array, generator: np.random.Generator) -> Array:
    """Logarithms of the medians of RESAMPLES bootstrap samples of one block."""
    picked = generator.integers(block.size, size=(RESAMPLES, block.size), dtype=np.int32)
    medians: Array = np.log(np.median(block[picked], axis=1))
    return medians


def _draw_pairs(within: Array, generator: np.random.Generator) -> Array:
    """Mean log ratio of K pairs drawn with replacement, each by a resample of its own, RESAMPLES times."""
    count = within.shape[0]
    shape = (RESAMPLES, count)
    means: Array = within[generator.integers(count, size=shape), generator.integers(RESAMPLES, size=shape)].mean(axis=1)
    return means


def _stretch(ratios: Array, sampling: float) -> float:
    """Factor on the interval's half widths: 1 where samples explain how pairs differ, up to the small-K correction."""
    count = ratios.size
    between = float(ratios.var(ddof=1))
    if between <= sampling:
        return 1.0
    freedom = count - 1
    full = float(np.sqrt(count / freedom)) * student(freedom) / _NORMAL
    return 1.0 + (1.0 - sampling / between) * (full - 1.0)


def _samples(values: ArrayLike) -> Array:
    samples = np.asarray(values, dtype=np.float64).ravel()
    if not samples.size:
        raise ValueError("no timed calls")
    return samples


def _matrix(values: ArrayLike) -> Array:
    matrix = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if matrix.ndim != 2 or not matrix.size:
        raise ValueError(f"times must be ranks x calls and not empty, not {matrix.shape}")
    return matrix
