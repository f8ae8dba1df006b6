"""What the session store gives back: plain frozen data."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.events import Ratio, Status


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One judged source version. Times are milliseconds, ``started`` is seconds since the epoch."""

    id: int
    sitting: str
    """The run of pkwb that made it."""
    number: int
    """Counts from 1 within its sitting."""
    problem: str
    """The problem's stem."""
    backend: str
    path: str
    digest: str
    started: float
    status: Status
    reason: str
    speedup: Ratio | None
    candidate_ms: float | None
    reference_ms: float | None
    gbps: float | None
    world: int
    size: str
    dtype: str
    device: str
    manner: str
    """How calls were timed where that is out of the ordinary, such as ``protocol pkb`` or ``graph``; else empty."""
    note: str

    def name(self, sitting: str) -> str:
        """``#3`` within its own sitting, ``id 57`` seen from any other, whose numbers start anew."""
        return f"#{self.number}" if self.sitting == sitting else f"id {self.id}"


@dataclass(frozen=True, kw_only=True)
class Sitting:
    """One run of pkwb, summed up."""

    name: str
    problem: str
    """The problem's stem."""
    started: float
    ended: float
    attempts: int
    ok: int
    best: float | None
    """Highest median speedup of its ok attempts."""


@dataclass(frozen=True)
class Standing:
    """What is known of a problem from all sittings."""

    best: Attempt | None = None
    """The fastest ok attempt; where there is none, the newest one that was judged."""
    opened: float | None = None
    """When it was opened last, seconds since the epoch."""
