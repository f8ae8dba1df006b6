"""Under which conditions calls were timed: clocks of the GPUs, launches that hold the device up, and flags for both."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

SETTLED_CALLS = 10
_SETTLED_SPREAD = 0.05
"""A gate sees the clock for 0.1 ms by a timer of 1 us, at either end: 2% by that alone; a rising clock moves faster."""
_NEAR_PEAK = 0.9
_THROTTLED_BELOW = 0.75
_THROTTLED_SHARE = 0.05
"""nvbench discards samples below this share of the clock; more of them than this share of all are a flag."""


def settled(mhz: Sequence[Sequence[int]], most_mhz: int) -> bool:
    """Whether the clock of every rank's GPU has come to rest near its peak; the last calls of P rows of MHz decide.

    0 MHz, not measured, is never at rest. ``most_mhz`` 0: the peak is not known.
    """
    rows = [row[-SETTLED_CALLS:] for row in mhz]
    return all(
        len(row) == SETTLED_CALLS
        and min(row) > 0
        and max(row) - min(row) <= _SETTLED_SPREAD * max(row)
        and min(row) >= _NEAR_PEAK * most_mhz
        for row in rows
    )


def clock_flags(slowest: Sequence[int], most_mhz: int) -> tuple[str, ...]:
    """``throttled`` by each call's lowest clock in MHz; ``host-aligned`` where a rank had no gate that measures it."""
    if 0 in slowest:
        return ("host-aligned",)
    low = sum(mhz < _THROTTLED_BELOW * most_mhz for mhz in slowest)
    return ("throttled",) if low > _THROTTLED_SHARE * len(slowest) else ()


def launch_flags(side: str, ns: Sequence[int], host_ns: Sequence[int], held: Sequence[bool]) -> tuple[str, ...]:
    """``blocks-on-device (side)`` where most calls did not return before the gate's patience ended, so that launches
    count; else ``launch-bound (side)`` where the host needs longer for a call than its device, by the medians."""
    if 2 * sum(held) > len(held):
        return (f"blocks-on-device ({side})",)
    return (f"launch-bound ({side})",) if median(host_ns) > median(ns) else ()


def with_causes(flags: Sequence[str], watched: Sequence[str]) -> tuple[str, ...]:
    """Flags with those that the driver's counters give; its ``throttled (why)`` takes the place of the bare word."""
    said = {flag.partition(" (")[0] for flag in watched}
    return (*(flag for flag in flags if flag.partition(" (")[0] not in said), *watched)
