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
    """Twice as fast, as fast and half as fast is no difference, with Student's interval around it."""
    ratio = trials.speedup([[2.0, 4.0], [2.0], [1.0, 2.0]], [[1.0, 2.0], [2.0], [2.0, 4.0]])

    assert ratio.median == pytest.approx(1.0)
    assert not ratio.differs
    assert ratio.interval == pytest.approx([math.exp(sign * 4.30 * math.log(2) / math.sqrt(3)) for sign in (-1, 1)])


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


@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_trials_have_no_interval(count: int) -> None:
    """After the first trial there is a figure already; how far it is off is told from the third on."""
    ratio = trials.speedup([[2.0, 2.02] * 50] * count, [[1.0, 1.01] * 50] * count)

    assert ratio.median == pytest.approx(2.0)
    assert (ratio.interval, ratio.differs, ratio.sure) == (None, False, 0.0)


@pytest.mark.parametrize(("reference", "candidate"), [([], []), ([[1.0]], [[]])])
def test_speedup_without_calls_is_refused(reference: list[list[float]], candidate: list[list[float]]) -> None:
    """No figure is made up where one side was never timed."""
    with pytest.raises(ValueError, match="at least one timed call"):
        trials.speedup(reference, candidate)


def test_times_of_zero_give_finite_figures() -> None:
    """A candidate that claims to need no time makes no figure infinite."""
    ratio = trials.speedup([[1e6], [1e18], [1e6]], [[0.0], [0.0], [1e18]])

    assert all(map(math.isfinite, (ratio.median, *ratio.interval)))


@pytest.mark.parametrize(("freedom", "point"), [(1, 12.71), (4, 2.78), (10, 2.23), (30, 2.04), (1000, 1.96)])
def test_students_t_by_hand(freedom: int, point: float) -> None:
    """The 97.5% points are those of the printed tables, within 1%."""
    assert trials.student(freedom) == pytest.approx(point, rel=0.01)
