"""Times that cannot be, and speedups worth a look."""

from __future__ import annotations

import dataclasses

from workbench.events import Floor, Ratio, Spread
from workbench.judge.floors import look_flags, too_fast

FLOOR = Floor(
    ms=0.0057,
    binding="link",
    terms_ms={"link": 0.0047},
    topology="2 × H200",
    wire_ms=0.0047,
    wire="2 MB / 450 GB/s; 2 × H200",
)


def around(ms: float) -> Spread:
    """A narrow spread."""
    return Spread(median=ms, p10=ms, p90=ms)


def test_faster_than_the_links_is_suspect() -> None:
    """A time in which the links cannot carry the bytes is told with both numbers."""
    words = too_fast(around(0.0031), around(0.02), FLOOR)

    assert "faster than the links: 3.1 us" in words
    assert "take 4.7 us on this machine's links (2 MB / 450 GB/s; 2 × H200)" in words


def test_times_that_may_be() -> None:
    """At the limit or above it, without a limit, or where the reference is below it too, nothing is suspected."""
    assert too_fast(around(0.0047), around(0.02), FLOOR) == ""
    assert too_fast(around(0.0031), around(0.02), None) == ""
    assert too_fast(around(0.0031), around(0.02), dataclasses.replace(FLOOR, wire_ms=0.0)) == ""
    assert too_fast(around(0.0031), around(0.004), FLOOR) == ""


def test_rare_speedups_get_a_flag() -> None:
    """Above ten times the reference a person is asked to look; the verdict stays what it is."""
    assert look_flags(Ratio(median=12.2, low=11, high=13)) == ("look: 12x over the reference",)
    assert look_flags(Ratio(median=9.9, low=9, high=11)) == ()
