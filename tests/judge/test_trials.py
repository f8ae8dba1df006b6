"""Speedup over trials that time both sides anew: what the user reads under `--protocol pkb`."""

from __future__ import annotations

import math
import random

import pytest

from workbench.judge import trials


def test_the_slowest_rank_is_the_one_with_the_largest_mean() -> None:
    """One slow call makes a rank the slowest, as the mean has it, whatever its median says."""
    assert trials.slowest_rank([[2.0, 2.0, 2.0], [1.0, 1.0, 7.0]]) == [1.0, 1.0, 7.0]


def test_speedup_is_the_geometric_mean_of_the_trials_ratios() -> None:
    """Twice as fast in one trial and half as fast in the other is no difference, with Student's interval around it."""
    ratio = trials.speedup([[2.0, 4.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 4.0]])

    assert ratio.median == pytest.approx(1.0)
    assert ratio.high == pytest.approx(math.exp(12.71 * math.log(2)))
    assert ratio.low == pytest.approx(1 / ratio.high)


def test_the_interval_covers_the_true_ratio() -> None:
    """With five trials that each drift by 3%, the interval holds the true speedup in at least 93 of 100 sittings."""
    generator = random.Random(2026)
    hits = 0
    for _ in range(1000):
        drift = [generator.gauss(0, 0.03) for _ in range(10)]
        reference = [[1.5 * math.exp(value)] for value in drift[:5]]
        ratio = trials.speedup(reference, [[math.exp(value)] for value in drift[5:]])
        hits += ratio.low <= 1.5 <= ratio.high
    assert hits >= 930


def test_one_trial_has_the_interval_of_its_own_calls() -> None:
    """After the first trial there is a figure already, wider the more its calls differ; one call says nothing more."""
    steady = trials.speedup([[2.0, 2.02] * 50], [[1.0, 1.01] * 50])
    noisy = trials.speedup([[1.0, 3.0] * 50], [[0.5, 1.5] * 50])

    assert steady.median == pytest.approx(2.0)
    assert steady.low < 2.0 < steady.high
    assert noisy.high - noisy.low > 10 * (steady.high - steady.low)
    assert trials.speedup([[2.0]], [[1.0]]).differs


@pytest.mark.parametrize(("reference", "candidate"), [([], []), ([[1.0]], [[]])])
def test_speedup_without_calls_is_refused(reference: list[list[float]], candidate: list[list[float]]) -> None:
    """No figure is made up where one side was never timed."""
    with pytest.raises(ValueError, match="at least one timed call"):
        trials.speedup(reference, candidate)


def test_times_of_zero_give_finite_figures() -> None:
    """A candidate that claims to need no time makes no figure infinite."""
    ratio = trials.speedup([[1e6], [1e18], [1e6]], [[0.0], [0.0], [1e18]])

    assert all(math.isfinite(value) for value in (ratio.low, ratio.median, ratio.high))


@pytest.mark.parametrize(("freedom", "point"), [(1, 12.71), (4, 2.78), (10, 2.23), (30, 2.04), (1000, 1.96)])
def test_students_t_by_hand(freedom: int, point: float) -> None:
    """The 97.5% points are those of the printed tables, within 1%."""
    assert trials.student(freedom) == pytest.approx(point, rel=0.01)
