"""Rates from link counters that are read now and then."""

from __future__ import annotations

from workbench.events import LinkCounters
from workbench.topology.nvml import Counters

Rates = tuple[float | None, float | None]
Key = tuple[int, ...]
"""A rank, or a rank and its peer."""


class Traffic:
    """Remembers the last reading of each set of links, and which were ever seen to move."""

    def __init__(self) -> None:
        self._before: dict[Key, Counters] = {}
        self._moving: set[Key] = set()

    def forget(self) -> None:
        """Begin a new stretch: what crossed the links until the next reading is not counted."""
        self._before.clear()

    def rates(self, key: Key, now: Counters | None) -> Rates:
        """GB/s sent and received since the reading before, to one decimal; None until they were once seen to move."""
        before = self._before.get(key)
        if now is not None:
            self._before[key] = now
        if now is None or before is None or now.at_us <= before.at_us:
            return None, None
        sent, received = now.sent - before.sent, now.received - before.received
        if sent > 0 or received > 0:
            self._moving.add(key)
        if key not in self._moving or min(sent, received) < 0:
            return None, None
        seconds = (now.at_us - before.at_us) / 1e6
        return round(sent / seconds / 1e9, 1), round(received / seconds / 1e9, 1)

    def worth(self, key: Key, now: Counters | None) -> LinkCounters:
        """What these counters are worth so far."""
        if now is None:
            return "absent"
        if key in self._moving:
            return "moving"
        return "still" if now.counting else "zero"
