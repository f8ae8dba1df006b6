"""Statistics of timed calls: what the user reads as time, skew, speedup and flags."""

from __future__ import annotations

import math

import numpy as np
import pytest

from workbench.judge import statistics

NOISE = 0.05


def _blocks(generator: np.random.Generator, drift: np.ndarray, ratio: float = 1.0, size: int = 25):
    """Blocks in the order R C C R R C C R, each with its own drift; the reference takes ``ratio`` times as long."""
    times = np.exp(drift)[:, None] * generator.lognormal(0, NOISE, (drift.size, size))
    order = np.resize([0, 1, 1, 0], drift.size)
    return list(times[order == 0] * ratio), list(times[order == 1])


def _coverage(make_drift, truth: float, runs: int = 400, pairs: int = 4, size: int = 25) -> float:
    generator = np.random.default_rng(2026)
    hits = 0
    for seed in range(runs):
        reference, candidate = _blocks(generator, make_drift(generator, 2 * pairs), truth, size)
        interval = statistics.speedup(reference, candidate, seed)
        hits += interval.low <= truth <= interval.high
    return hits / runs


DRIFTS = {
    "none": lambda generator, count: np.zeros(count),
    "steady": lambda generator, count: np.linspace(0, 0.2, count),
    "by pair": lambda generator, count: np.repeat(generator.normal(0, 0.1, count // 2), 2),
    "walk": lambda generator, count: np.cumsum(generator.normal(0, 0.03, count)),
}


@pytest.mark.parametrize("drift", DRIFTS, ids=list(DRIFTS))
def test_equal_kernels_are_not_called_different(drift: str) -> None:
    """The shown 95% interval covers 1 in at least 93 of 100 sittings, whatever the machine's clocks do."""
    assert _coverage(DRIFTS[drift], 1.0) >= 0.93


@pytest.mark.parametrize("truth", [1.05, 1.34, 2.0])
def test_interval_covers_the_true_ratio(truth: float) -> None:
    """The shown interval holds the true speedup of a faster kernel on a machine whose clocks wander."""
    assert _coverage(DRIFTS["walk"], truth, runs=120) >= 0.93


def test_interval_with_independent_block_drift() -> None:
    """Even when every one of few blocks runs at a speed of its own (10%), equal kernels are rarely called different."""
    assert _coverage(lambda generator, count: generator.normal(0, 0.1, count), 1.0, pairs=3) >= 0.90


def test_twice_as_fast_is_told_apart_and_narrow() -> None:
    """A kernel twice as fast is shown near 2x, with an interval that leaves 1 out and is narrower than 10%."""
    reference, candidate = _blocks(np.random.default_rng(1), np.zeros(8), 2.0)
    ratio = statistics.speedup(reference, candidate, 1)
    assert ratio.median == pytest.approx(2.0, rel=0.03)
    assert ratio.differs
    assert (ratio.high - ratio.low) / ratio.median < 0.10


def test_interval_narrows_with_samples() -> None:
    """More timed calls give a narrower interval: the live figure settles."""
    generator = np.random.default_rng(3)
    widths = []
    for size in (5, 25, 100):
        ratio = statistics.speedup(*_blocks(generator, np.zeros(8), size=size), seed=3)
        widths.append(ratio.high - ratio.low)
    assert widths == sorted(widths, reverse=True)


def test_disagreeing_pairs_widen_the_interval() -> None:
    """Pairs that contradict each other (0.8x and 1.25x) are never shown as a difference."""
    block = np.linspace(0.99, 1.01, 25)
    reference = [block * 1.25, block * 0.8, block * 1.25, block * 0.8]
    assert not statistics.speedup(reference, [block] * 4, 1).differs


def test_same_samples_same_interval() -> None:
    """An attempt looked at again shows the very interval it had."""
    reference, candidate = _blocks(np.random.default_rng(4), np.zeros(6))
    assert statistics.speedup(reference, candidate, 9) == statistics.speedup(reference, candidate, 9)


@pytest.mark.parametrize("pairs", [1, 2])
def test_one_or_two_pairs_of_blocks_have_no_interval(pairs: int) -> None:
    """A figure from so few pairs stands alone: it is no difference, and nothing is sure of it."""
    ratio = statistics.speedup([[2.0] * 10] * pairs, [[1.0] * 10] * pairs, 1)
    assert ratio.median == pytest.approx(2.0)
    assert (ratio.interval, ratio.differs, ratio.sure) == (None, False, 0.0)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("drift", DRIFTS, ids=list(DRIFTS))
def test_three_short_blocks_make_an_honest_interval(size: int, drift: str) -> None:
    """Where slow calls leave three pairs of a few calls each, the interval still covers 1 in 93 of 100 sittings."""
    assert _coverage(DRIFTS[drift], 1.0, pairs=3, size=size) >= 0.93


def test_speedup_from_the_first_calls_and_uneven_blocks() -> None:
    """The first figure needs one call of either side; a block just begun does not spoil the finished ones."""
    assert statistics.speedup([[3.0]], [[2.0]], 1).median == pytest.approx(1.5)
    ratio = statistics.speedup([[2.0] * 25, [2.0] * 25, [2.0]], [[1.0] * 25, [1.0] * 25, [50.0]], 1)
    assert ratio.median == pytest.approx(2.0)
    assert statistics.speedup([[2.0] * 5, [9.0] * 5], [[1.0] * 5], 1).median == pytest.approx(2.0)


@pytest.mark.parametrize(("reference", "candidate"), [([], []), ([[1.0]], []), ([[1.0]], [[]])])
def test_speedup_without_calls_is_refused(reference: list, candidate: list) -> None:
    """No figure is made up where one side was never timed."""
    with pytest.raises(ValueError, match="at least one timed call"):
        statistics.speedup(reference, candidate, 1)


def test_call_takes_as_long_as_its_slowest_rank() -> None:
    """Slowness that moves from rank to rank is not averaged away."""
    assert statistics.over_ranks([[1, 5, 1], [5, 1, 1]]).tolist() == [5, 5, 1]
    assert statistics.rank_medians([[1, 5, 1], [5, 1, 1]]) == (1.0, 1.0)


def test_spread_by_hand() -> None:
    """Median and percentiles of 0..10 are 5, 1 and 9."""
    figures = statistics.spread(range(11))
    assert (figures.median, figures.p10, figures.p90) == (5.0, 1.0, 9.0)


def test_skew_by_hand() -> None:
    """A rank that needs 4 ms where another needs 3 ms is 25% skew; one rank alone has none."""
    assert statistics.skew([[3, 3, 3], [4, 4, 4]]) == pytest.approx(0.25)
    assert statistics.skew([[3, 4, 5]]) == 0.0


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        ([[1.0] * 40, [1.0] * 40], ()),
        ([[1.0] * 10, [1.0] * 10], ("few-samples",)),
        ([[1.0, 1.06] * 20], ("noisy",)),
        ([[1.0, 1.04] * 20], ()),
        ([[1.0] * 40, [1.3] * 40], ("skewed",)),
    ],
    ids=["clean", "few", "noisy", "little noise", "skewed"],
)
def test_flags(matrix: list, expected: tuple[str, ...]) -> None:
    """Doubtful timings carry a word that says why."""
    assert statistics.flags(matrix) == expected


def test_empty_matrix_is_refused() -> None:
    """No calls give an error, not a figure."""
    with pytest.raises(ValueError, match="not empty"):
        statistics.over_ranks(np.empty((2, 0)))
    with pytest.raises(ValueError, match="no timed calls"):
        statistics.spread([])


def test_times_of_zero_give_finite_figures() -> None:
    """A clock that reads 0, as of a candidate that claims to need no time, makes no figure infinite."""
    zeros, real = [[0] * 10] * 3, [[1e6] * 10] * 3

    assert all(np.isfinite([ratio.low, ratio.median, ratio.high]).all() and ratio.median > 0 for ratio in (
        statistics.speedup(real, zeros, 1), statistics.speedup(zeros, real, 1), statistics.speedup(zeros, zeros, 1),
    ))  # fmt: skip
    assert statistics.skew([[0, 0], [0, 0]]) == 0


def test_one_step_of_the_clock_is_no_difference() -> None:
    """Two processes whose calls differ by one step of the device's clock are not told apart, however many samples."""
    generator = np.random.default_rng(11)
    ticks = [generator.choice([39, 40, 41], size=(10, 10), p=[0.2, 0.6, 0.2]) * 32.0 for _ in range(2)]
    assert statistics.step(ticks[0]) == 32.0
    assert not statistics.speedup(list(ticks[0] + 32.0), list(ticks[1]), seed=1).differs


def test_one_percent_is_no_difference_but_three_are() -> None:
    """What two processes of the same code differ by is left open by the interval; a real difference is not."""
    generator = np.random.default_rng(12)
    times = 1e6 * (1 + 1e-4 * generator.standard_normal((2, 10, 10)))
    near = statistics.speedup(list(1.01 * times[0]), list(times[1]), seed=1)
    far = statistics.speedup(list(1.03 * times[0]), list(times[1]), seed=1)
    assert (near.differs, far.differs) == (False, True)
    assert far.low == pytest.approx(1.03 * math.exp(-1.96 * statistics.ALIKE), rel=1e-3)


def test_times_that_are_all_equal_have_no_step() -> None:
    """A clock that shows one value only says nothing about its step."""
    assert statistics.step([5.0, 5.0, 5.0]) == 0.0
