"""Processes that start small kernels at an unlike pitch: what that leaves open of a speedup."""

from __future__ import annotations

import math

import pytest

from workbench.judge import statistics
from workbench.judge.pitch import ALIKE_PROCESSES, Pitches, Unlike


@pytest.mark.parametrize(
    ("reference", "candidate", "slower", "faster"),
    [
        ((1930, 1930), (1930, 1930), 1.0, 1.0),
        ((1930, 1930), (2060, 1950), 2060 / 1930, 1.0),
        ((2060, 1930), (1930, 2000), 2000 / 1930, 2060 / 1930),
        ((0, 1930), (2060, 0), 1.0, 1.0),
        ((), (), 1.0, 1.0),
    ],
    ids=["alike", "one rank is slower", "both ways", "not measured", "processors"],
)
def test_the_rank_that_differs_most_decides(
    reference: tuple[int, ...], candidate: tuple[int, ...], slower: float, faster: float
) -> None:
    """Each direction has the largest difference of any rank; ranks that were not measured have none."""
    found = Pitches(reference, candidate).unlike(ns=100_000, host_ns=900_000)
    assert (math.exp(found.slower), math.exp(found.faster)) == pytest.approx((slower, faster))


def test_long_kernels_do_not_feel_it() -> None:
    """A call that runs ten times as long as its launches take can differ by a tenth of the pitch at most."""
    pitches = Pitches((2000,), (2200,))
    assert pitches.unlike(ns=1_000_000, host_ns=100_000).slower == pytest.approx(0.1 * math.log(1.1))
    assert pitches.unlike(ns=0, host_ns=100_000) == ALIKE_PROCESSES


@pytest.mark.parametrize(
    ("unlike", "flags"),
    [
        (Unlike(), ()),
        (Unlike(slower=0.019, faster=0.01), ()),
        (Unlike(slower=math.log(1.065)), ("unlike-pitch (+6%)",)),
        (Unlike(slower=math.log(1.05), faster=math.log(1.1)), ("unlike-pitch (+5%, -10%)",)),
    ],
    ids=["alike", "little", "slower", "both"],
)
def test_it_is_told_from_two_percent_on(unlike: Unlike, flags: tuple[str, ...]) -> None:
    """The flag says by how much more or less time the candidate's processes may take for the same kernels."""
    assert unlike.flags == flags


def test_only_the_bound_that_it_concerns_moves() -> None:
    """Processes known to be 5% slower leave open a speedup that is 5% larger, and none that is smaller."""
    blocks = [[100.0, 101.0, 102.0] * 4] * 4
    alike = statistics.speedup(blocks, blocks, seed=1)
    unlike = statistics.speedup(blocks, blocks, seed=1, unlike=Unlike(slower=math.log(1.05)))
    assert (unlike.median, unlike.low) == (alike.median, alike.low)
    assert unlike.high == pytest.approx(1.05 * alike.high)
    faster = statistics.speedup(blocks, blocks, seed=1, unlike=Unlike(faster=math.log(1.05)))
    assert (faster.low, faster.high) == pytest.approx((alike.low / 1.05, alike.high))
