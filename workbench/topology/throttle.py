"""What holds a GPU's clocks down: the driver's own counters of it, and its reason at a moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.topology.nvml import answer

POLICIES = {"power": 0, "thermal": 1, "sync boost": 2, "board limit": 3, "reliability": 5}
"""nvmlPerfPolicyType_t of nvml.h; low utilisation is left out, since it slows nothing down."""
FIELDS = {"power": (74, 271), "thermal": (269, 270), "sync boost": (76,), "board limit": (77,), "reliability": (79,)}
"""The same as field values in nanoseconds, NVML_FI_DEV_PERF_POLICY_* and NVML_FI_DEV_CLOCKS_EVENT_REASON_*, for drivers
that no longer have the former."""
REASONS = {
    "power": 0x4 | 0x80,
    "thermal": 0x20 | 0x40,
    "hardware": 0x8,
    "sync boost": 0x10,
    "clock setting": 0x2,
}
"""Bits of nvmlDeviceGetCurrentClocksThrottleReasons by cause; idle and display are no throttling."""
_SLOWDOWNS = ("power", "thermal", "hardware")
"""Causes that are told of a moment too, where nothing is counted; the others are settings."""
_NOTABLE = 0.01
"""Share of a stretch of time below which nothing is told."""


@dataclass(frozen=True, kw_only=True)
class Throttle:
    """What holds a GPU's clocks down: for how long since the driver was loaded, and now."""

    at_us: int
    """When it was read, microseconds of the driver's clock."""
    spent_ns: Mapping[str, int]
    """Nanoseconds by cause; empty where the driver does not count."""
    now: tuple[str, ...] | None = None
    """Causes at this moment; None where they are not told."""


def read_throttle(nvml: Any, card: Any) -> Throttle | None:
    """What a GPU tells; None where it tells nothing of the kind."""
    at_us, spent = _policies(nvml, card) or _fields(nvml, card) or (0, {})
    held = held_by(nvml, card)
    if not spent and held is None:
        return None
    return Throttle(at_us=at_us, spent_ns=spent, now=None if held is None else tuple(filter(None, held.split(", "))))


def _policies(nvml: Any, card: Any) -> tuple[int, dict[str, int]] | None:
    asked = {
        cause: answer(nvml, None, nvml.nvmlDeviceGetViolationStatus, card, number) for cause, number in POLICIES.items()
    }
    found = {cause: status for cause, status in asked.items() if status is not None}
    if not found:
        return None
    spent = {cause: int(status.violationTime) for cause, status in found.items()}
    return max(int(status.referenceTime) for status in found.values()), spent


def _fields(nvml: Any, card: Any) -> tuple[int, dict[str, int]] | None:
    wanted = [(cause, field) for cause, fields in FIELDS.items() for field in fields]
    values = answer(nvml, (), nvml.nvmlDeviceGetFieldValues, card, [field for _, field in wanted])
    spent: dict[str, int] = {}
    for (cause, _), value in zip(wanted, values):
        if not value.nvmlReturn:
            spent[cause] = spent.get(cause, 0) + int(value.value.ullVal)
    return (max(int(value.timestamp) for value in values), spent) if spent else None


def throttle_flags(before: Sequence[Throttle | None], after: Sequence[Throttle | None]) -> tuple[str, ...]:
    """``throttled (power 12%, rank 1)``: per cause the rank whose clocks were held down longest between two readings.

    Where a GPU counts nothing, what holds it down at the second reading is told: ``thermal at its end, rank 1``. Empty
    where nothing was held down for 1% of the time, and where that is not known.
    """
    worst: dict[str, tuple[float, int]] = {}
    for rank, (first, last) in enumerate(zip(before, after)):
        for cause, share in _shares(first, last).items():
            worst[cause] = max(worst.get(cause, (0.0, 0)), (share, rank), key=lambda found: found[0])
    told = [f"{cause} {share:.0%}, rank {rank}" for cause, (share, rank) in worst.items() if share >= _NOTABLE]
    told += [f"{cause} at its end, rank {rank}" for rank, last in enumerate(after) for cause in _at_end(last)]
    return (f"throttled ({'; '.join(told)})",) if told else ()


def _at_end(last: Throttle | None) -> tuple[str, ...]:
    if last is None or last.spent_ns:
        return ()
    return tuple(cause for cause in last.now or () if cause in _SLOWDOWNS)


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
