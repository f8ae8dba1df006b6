"""The floor of a roofline in words, from its JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from widgets import format as fmt


def floor_text(floor: Mapping[str, Any]) -> str:
    """``21 us, latency binds (link 4.7 us, memory 0.9 us, compute 0, latency 16 us), 2 × H200``."""
    terms = ", ".join(f"{name} {_time(ms)}" for name, ms in floor["terms_ms"].items())
    binds = f", {floor['binding']} binds" if floor["binding"] else ""
    least = f"{_time(floor['ms'])}{binds}" if floor["ms"] is not None else "not known"
    where = f"what if: {floor['topology']}" if floor["what_if"] else floor["topology"]
    kind = ", from the measured rate of the link, no physical limit" if floor["measured"] else ""
    network = f"; {_time(floor['in_network_ms'])} with in-network reduction" if floor["in_network_ms"] else ""
    return f"{least} ({terms}){network}, {where}{kind}"


def distances(floor: Mapping[str, Any], medians: Mapping[str, float]) -> str:
    """How many times the floor each side takes: ``candidate 4.8x, reference 6.4x``; empty where no floor is known."""
    if not floor["ms"]:
        return ""
    return ", ".join(f"{side} {_times(median / floor['ms'])} the floor" for side, median in medians.items())


def _times(ratio: float) -> str:
    return f"{fmt.figure(ratio)}x"


def _time(ms: float | None) -> str:
    return "?" if ms is None else "0" if ms == 0 else fmt.duration(ms)
