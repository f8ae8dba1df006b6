"""What holds a GPU's clocks down: the driver's own counters of it, and its reason at a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.topology.nvml import answer

POLICIES = {"power": 0, "thermal": 1, "sync boost": 2, "board limit": 3, "reliability": 5}
"""nvmlPerfPolicyType_t of nvml.h; low utilisation is left out, since it slows nothing down."""
REASONS = {
    "power": 0x4 | 0x80,
    "thermal": 0x20 | 0x40,
    "hardware": 0x8,
    "sync boost": 0x10,
    "clock setting": 0x2,
}
"""Bits of nvmlDeviceGetCurrentClocksThrottleReasons by cause; idle and display are no throttling."""
_NOTABLE = 0.01
"""Share of a stretch of time below which nothing is told."""


@dataclass(frozen=True, kw_only=True)
class Throttle:
    """Nanoseconds that a GPU's clocks were held down since the driver was loaded, by cause."""

    at_us: int
    """When it was read, microseconds of the driver's clock."""
    spent_ns: Mapping[str, int]


def read_throttle(nvml: Any, card: Any) -> Throttle | None:
    """The counters of a GPU; None where the driver does not keep them."""
    asked = ((cause, _policy(nvml, card, number)) for cause, number in POLICIES.items())
    found = {cause: status for cause, status in asked if status is not None}
    if not found:
        return None
    at_us = max(int(status.referenceTime) for status in found.values())
    return Throttle(at_us=at_us, spent_ns={cause: int(status.violationTime) for cause, status in found.items()})


def _policy(nvml: Any, card: Any, number: int) -> Any:
    return answer(nvml, None, nvml.nvmlDeviceGetViolationStatus, card, number)


def throttle_flags(before: Sequence[Throttle | None], after: Sequence[Throttle | None]) -> tuple[str, ...]:
    """``throttled (power 12%, rank 1)``: per cause the rank whose clocks were held down longest between two readings.

    Empty where nothing was held down for 1% of the time, and where that is not known.
    """
    worst: dict[str, tuple[float, int]] = {}
    for rank, (first, last) in enumerate(zip(before, after)):
        for cause, share in _shares(first, last).items():
            worst[cause] = max(worst.get(cause, (0.0, 0)), (share, rank), key=lambda found: found[0])
    told = [f"{cause} {share:.0%}, rank {rank}" for cause, (share, rank) in worst.items() if share >= _NOTABLE]
    return (f"throttled ({'; '.join(told)})",) if told else ()


def _shares(first: Throttle | None, last: Throttle | None) -> dict[str, float]:
    """Share of the time between two readings, by cause."""
    if first is None or last is None or last.at_us <= first.at_us:
        return {}
    lasted = (last.at_us - first.at_us) * 1e3
    spent = {cause: ns - first.spent_ns[cause] for cause, ns in last.spent_ns.items() if cause in first.spent_ns}
    return {cause: min(1.0, ns / lasted) for cause, ns in spent.items() if ns > 0}


def held_by(nvml: Any, card: Any) -> str | None:
    """What holds the clocks down now, for example ``power, thermal``; empty for nothing, None where it is not told."""
    bits = answer(nvml, None, nvml.nvmlDeviceGetCurrentClocksThrottleReasons, card)
    return None if bits is None else ", ".join(cause for cause, mask in REASONS.items() if int(bits) & mask)
