"""Conditions of timed calls: when clocks have come to rest, and the words for what was wrong with them."""

from __future__ import annotations

import pytest

from workbench.judge.conditions import clock_flags, launch_flags, settled, with_causes


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([[1980] * 10, [1970] * 10], True),
        ([[600] * 5 + [1980] * 10], True),
        ([[1980] * 9], False),
        ([[1950] * 5 + [1990] * 5], True),
        ([[1850] * 9 + [1980]], False),
        ([[1500] * 10], False),
        ([[1980] * 10, [0] * 10], False),
        ([], True),
    ],
    ids=[
        *("rest", "ramp before", "too few calls", "a coarse look"),
        *("still moving", "far from the peak", "not measured", "no ranks"),
    ],
)
def test_clocks_at_rest(rows: list[list[int]], expected: bool) -> None:
    """The warm-up may end when the last ten calls of every rank had one clock within 5%, near the peak of 1980 MHz."""
    assert settled(rows, 1980) is expected


def test_a_peak_that_is_not_known_does_not_count() -> None:
    """Where the driver tells no peak clock, a steady clock is enough."""
    assert settled([[1200] * 10], 0)


@pytest.mark.parametrize(
    ("slowest", "expected"),
    [
        ([1980] * 100, ()),
        ([1980] * 95 + [1400] * 5, ()),
        ([1980] * 94 + [1400] * 6, ("throttled",)),
        ([1980] * 99 + [0], ("host-aligned",)),
    ],
    ids=["full clock", "5 of 100 below", "6 of 100 below", "one without a gate"],
)
def test_clock_flags(slowest: list[int], expected: tuple[str, ...]) -> None:
    """More than 5% of samples below 75% of the peak clock are told, and so is a rank whose calls had no gate."""
    assert clock_flags(slowest, 1980) == expected


def test_a_call_that_takes_longer_to_launch_than_to_run() -> None:
    """A side whose host is busy for longer than its device is named launch-bound; the other side is not."""
    assert launch_flags("candidate", [100, 100, 100], [150, 160, 90], [False] * 3) == ("launch-bound (candidate)",)
    assert launch_flags("reference", [100, 100, 100], [90, 160, 80], [False] * 3) == ()


def test_a_call_that_waits_for_its_device() -> None:
    """A side that mostly outlasts the gate's patience is named for that, and not for its launches as well."""
    assert launch_flags("candidate", [100] * 3, [2000] * 3, [True, True, False]) == ("blocks-on-device (candidate)",)
    assert launch_flags("candidate", [100] * 4, [50] * 4, [True, True, False, False]) == ()


def test_the_drivers_word_with_its_cause_replaces_the_bare_one() -> None:
    """Throttling is told once, with what the driver says of it; other flags stay, and saying it again adds nothing."""
    watched = ("shared-gpu (rank 0: pid 7 3.0 GB)", "throttled (power 12%, rank 1)")
    found = with_causes(("noisy", "throttled"), watched)
    assert found == ("noisy", *watched)
    assert with_causes(found, watched) == found
