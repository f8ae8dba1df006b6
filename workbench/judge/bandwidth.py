"""Bandwidth figures: algbw, busbw, effective bandwidth, and the measured peak they are held against.

Bandwidths are GB/s with GB = 1e9 bytes. The conventions are those of nccl-tests (doc/PERFORMANCE.md):
algbw = S / t, busbw = algbw * factor, where the factor counts how often a byte of S crosses a rank's link, so that
busbw compares with the one-way rate of a rank's links whatever the number of ranks.
"""

from __future__ import annotations

import hashlib
import math
import platform
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from problems.model import CollectiveOp
from workbench.files import cache_dir, read_json, write_json


def _shared(world: int) -> float:
    return (world - 1) / world


def _whole(_world: int) -> float:
    return 1.0


BUSBW_FACTORS: dict[CollectiveOp, Callable[[int], float]] = {
    "all_reduce": lambda world: 2 * (world - 1) / world,
    "all_gather": _shared,
    "reduce_scatter": _shared,
    "all_to_all": _shared,
    "gather": _shared,
    "scatter": _shared,
    "broadcast": _whole,
    "reduce": _whole,
}
"""Factor by collective. S is the size nccl-tests prints: the whole vector (all-gather: the gathered result;
reduce-scatter: the input; all-to-all: one rank's whole buffer; gather, scatter: the root's whole buffer)."""


def busbw_factor(op: CollectiveOp, world: int) -> float:
    """busbw / algbw of a collective; 0 for one rank in the (P-1) family, since nothing crosses a link."""
    return BUSBW_FACTORS[op](world)


def algbw(size_bytes: float, seconds: float) -> float:
    """S / t in GB/s (nccl-tests); 0 when no time was measured."""
    return effective(size_bytes, seconds)


def busbw(op: CollectiveOp, size_bytes: float, seconds: float, world: int) -> float:
    """algbw * factor in GB/s (nccl-tests)."""
    return algbw(size_bytes, seconds) * busbw_factor(op, world)


def effective(needed_bytes: float, seconds: float) -> float:
    """Effective bandwidth in GB/s: the least bytes a rank must move for this result, over the time taken."""
    return needed_bytes / seconds / 1e9 if seconds > 0 else 0.0


def share(gbps: float, peak_gbps: float | None) -> float | None:
    """Part of the peak that was reached (0.47 = 47%); None without a peak. May exceed 1 (in-switch reduction)."""
    return gbps / peak_gbps if peak_gbps else None


@dataclass(frozen=True, kw_only=True)
class Peak:
    """The one-way rate of a rank's link as measured on this machine."""

    gbps: float
    label: str
    """What the figure is, as shown to people: ``gloo all-reduce, 4 ranks (CPU)``."""
    measured: float
    """When, in seconds since the epoch."""
    how: str
    """Message size, calls and statistic."""


def machine_name() -> str:
    """Host, architecture and kernel: a home folder shared by several machines keeps their peaks apart."""
    return " ".join((platform.node(), platform.machine(), platform.release()))


@dataclass(frozen=True, kw_only=True)
class PeakKey:
    """What a measured peak holds for; a change of any part asks for a new measurement."""

    device: str
    world: int
    torch: str
    machine: str = field(default_factory=machine_name)


def load_peak(key: PeakKey) -> Peak | None:
    """The cached peak for a key, or None where there is none or it is damaged."""
    return _peak_of(read_json(_path(key)))


def find_peak(device: str, world: int) -> Peak | None:
    """The newest cached peak of this machine for a device and number of ranks, whatever the version of torch."""
    peaks = (_peak_of(record) for record in records(device, world))
    return max((peak for peak in peaks if peak), key=lambda peak: peak.measured, default=None)


def store_peak(key: PeakKey, peak: Peak) -> None:
    """Keep a peak for later sittings; raises ``UsageError`` when the cache folder cannot be written."""
    keep(key, "peak", asdict(peak))


def records(device: str, world: int | None = None) -> list[dict[str, Any]]:
    """Everything kept of this machine for a device and number of ranks (None: any), one record a version of torch."""
    found = map(read_json, _folder().glob(f"{device}-{'*' if world is None else world}-*.json"))
    here = machine_name()
    return [record for record in found if _key_of(record).get("machine") == here]


def keep(key: PeakKey, part: str, value: Any) -> Path:
    """Put one part into a key's record, beside what is there; its file. Raises ``UsageError`` as ``store_peak``."""
    path = _path(key)
    record = read_json(path)
    parts = record if isinstance(record, dict) else {}
    write_json(path, {**parts, "key": asdict(key), part: value})
    return path


def _folder() -> Path:
    return cache_dir() / "peaks"


def _path(key: PeakKey) -> Path:
    digest = hashlib.sha256("|".join((key.machine, key.device, str(key.world), key.torch)).encode()).hexdigest()
    return _folder() / f"{key.device}-{key.world}-{digest[:12]}.json"


def _peak_of(record: Any) -> Peak | None:
    try:
        peak = Peak(**record["peak"])
        return peak if is_rate(peak.gbps) and math.isfinite(peak.measured) else None
    except (TypeError, KeyError):
        return None


def is_rate(value: Any) -> bool:
    """Whether a value out of a file can be a rate; TypeError for one that is no number."""
    return bool(0 < value < math.inf)


def _key_of(data: Any) -> dict[str, Any]:
    key = data.get("key") if isinstance(data, dict) else None
    return key if isinstance(key, dict) else {}
