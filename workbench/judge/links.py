"""Measured rates of transfers between ranks, by mechanism and message size; the best are this machine's ceilings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from workbench.judge.bandwidth import PeakKey, is_rate, keep, records

_PART = "links"
FAMILIES = {
    "copy engine": "copy engine",
    "register load": "register",
    "register store": "register",
    "bulk load": "bulk copy",
    "bulk store": "bulk copy",
}
"""Transfer mechanisms of a topology file's ceilings, by what is measured."""
LARGE = 32 << 20
"""Bytes of a message that no cache near the sender or receiver hides."""


@dataclass(frozen=True, kw_only=True)
class LinkRate:
    """One mechanism at one message size, between two ranks (a collective: among all)."""

    mechanism: str
    bytes: int
    """Of one message, in each direction."""
    blocks: int | None
    """Thread blocks of the copying kernel; None where no kernel copies."""
    two_way: bool
    """Whether both ranks sent at once; the rate is then that of both directions together."""
    us: float
    """Median microseconds of a message, that of the slowest rank."""
    gbps: float
    """GB/s (1e9 bytes); busbw for a collective."""
    calls: int
    verified: bool
    """Whether what arrived is what was sent, to the last byte."""


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """A mechanism that was not measured, and why."""

    mechanism: str
    why: str


@dataclass(frozen=True, kw_only=True)
class LinkReport:
    """One measurement of a machine's links."""

    device: str
    world: int
    torch: str
    measured: float
    """When, in seconds since the epoch."""
    rates: tuple[LinkRate, ...]
    left_out: tuple[LeftOut, ...] = ()

    @property
    def verified(self) -> bool:
        """Whether all data arrived as sent."""
        return all(rate.verified for rate in self.rates)

    @property
    def key(self) -> PeakKey:
        """What the ceilings are kept under."""
        return PeakKey(device=self.device, world=self.world, torch=self.torch)


def ceilings(rates: Iterable[LinkRate]) -> tuple[LinkRate, ...]:
    """The best verified rate of each mechanism, one way and both ways, in the order of measurement.

    Messages of at least ``LARGE`` bytes count; without one there are no ceilings.
    """
    best: dict[tuple[str, bool], LinkRate] = {}
    for rate in (rate for rate in rates if rate.verified and rate.bytes >= LARGE):
        before = best.get((rate.mechanism, rate.two_way))
        if before is None or rate.gbps > before.gbps:
            best[rate.mechanism, rate.two_way] = rate
    return tuple(best.values())


def store_ceilings(report: LinkReport) -> Path:
    """Keep the ceilings beside the machine's peak; their file. ``UsageError`` when the cache cannot be written."""
    found = [asdict(rate) for rate in ceilings(report.rates)]
    return keep(report.key, _PART, {"measured": report.measured, "ceilings": found})


def find_ceilings(device: str, world: int | None = None) -> tuple[LinkRate, ...]:
    """The newest ceilings of this machine for a device and number of ranks; empty where none were measured.

    Single messages always go between two ranks: what they reach holds for any number (None), a collective's does not.
    """
    newest: tuple[float, tuple[LinkRate, ...]] = (0.0, ())
    for record in records(device, world):
        newest = max(newest, _read(record.get(_PART)), key=lambda found: found[0])
    return newest[1]


def mechanism_ceilings(found: Iterable[LinkRate]) -> dict[str, float]:
    """One-way GB/s by the names of mechanisms in topology files, the better of loads and stores."""
    best: dict[str, float] = {}
    for rate in found:
        name = FAMILIES.get(rate.mechanism)
        if name and not rate.two_way:
            best[name] = max(rate.gbps, best.get(name, 0.0))
    return best


def _read(part: Any) -> tuple[float, tuple[LinkRate, ...]]:
    try:
        found = tuple(LinkRate(**rate) for rate in part["ceilings"])
        return float(part["measured"]), tuple(rate for rate in found if is_rate(rate.gbps))
    except (TypeError, KeyError, ValueError):
        return 0.0, ()
