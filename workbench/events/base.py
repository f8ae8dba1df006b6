"""What all events have in common."""

from __future__ import annotations

import time as _time
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all events."""

    attempt: int = 0
    time: float = field(default_factory=_time.time)
