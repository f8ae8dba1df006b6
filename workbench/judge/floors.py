"""Times that cannot be, and times that are worth a look."""

from __future__ import annotations

from workbench.events import Floor, Ratio, Spread

LOOK = 10.0
"""Speedup over a tuned reference from which a person should look at how it came about."""


def too_fast(candidate: Spread, reference: Spread, floor: Floor | None) -> str:
    """Why a time is not to be believed, with the arithmetic; empty where it may be.

    Where the reference is below the limit too, the limit is what is wrong.
    """
    limit = floor.wire_ms if floor else 0.0
    if not floor or candidate.median >= limit or reference.median < limit:
        return ""
    arithmetic = f" ({floor.wire})" if floor.wire else ""
    return (
        f"faster than the links: {_time(candidate.median)}, but the bytes that the result needs take {_time(limit)} on "
        f"this machine's links{arithmetic}; is every call's data really moved?"
    )


def look_flags(speedup: Ratio) -> tuple[str, ...]:
    """A flag for a speedup that is rare in honest kernels."""
    return (f"look: {speedup.median:.0f}x over the reference",) if speedup.median > LOOK else ()


def _time(ms: float) -> str:
    return f"{ms:.3g} ms" if ms >= 1 else f"{ms * 1e3:.3g} us"
