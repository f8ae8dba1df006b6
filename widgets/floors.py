"""The floor of a roofline in words, from its JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from widgets import format as fmt


def floor_text(floor: Mapping[str, Any]) -> str:
    """``9.0 us, link binds (link 7.0 us, memory 0.9 us, compute 0, latency 2.0 us), 4 × H200``."""
    known = [f"{name} {least(ms)}" for name, ms in floor["terms_ms"].items() if ms is not None]
    rest = "; the rest not known" if len(known) < len(floor["terms_ms"]) else ""
    binds = f", {floor['binding']} binds" if floor["binding"] else ""
    head = f"{least(floor['ms'])}{binds}" if floor["ms"] is not None else "not known"
    where = f"what if: {floor['topology']}" if floor["what_if"] else floor["topology"]
    kind = ", from the measured rate of the link, no physical limit" if floor["measured"] else ""
    network = f"; {least(floor['in_network_ms'])} with in-network reduction" if floor["in_network_ms"] else ""
    return f"{head} ({', '.join(known)}{rest}){network}, {where}{kind}"


def distances(floor: Mapping[str, Any], medians: Mapping[str, float]) -> str:
    """How many times the floor each side takes: ``candidate 4.8x, reference 6.4x``; empty where no floor is known."""
    if not floor["ms"]:
        return ""
    sides = [f"{side} {fmt.figure(median / floor['ms'])}x" for side, median in medians.items()]
    return f"{', '.join(sides)} the floor" if sides else ""


def least(ms: float) -> str:
    """A least time: nothing below a hundredth of a microsecond is worth digits."""
    if ms == 0:
        return "0"
    return "<0.01 us" if ms < 1e-5 else fmt.duration(ms)
