"""Made-up link rates for tests."""

from __future__ import annotations

import dataclasses

from workbench.judge.links import LinkRate, LinkReport

MIB = 1 << 20


def rate(mechanism: str, gbps: float, size: int = 1024 * MIB, **more: object) -> LinkRate:
    """A measured rate, one way and verified unless told otherwise."""
    figures = {"bytes": size, "gbps": gbps, "us": size / gbps / 1e3, "calls": 9}
    made = LinkRate(mechanism=mechanism, blocks=None, two_way=False, verified=True, **figures)  # type: ignore[arg-type]
    return dataclasses.replace(made, **more)  # type: ignore[arg-type]


def report(*rates: LinkRate, measured: float = 1.0, torch: str = "2.13.0") -> LinkReport:
    """A report of two GPU ranks."""
    return LinkReport(device="cuda", world=2, torch=torch, measured=measured, rates=rates)
