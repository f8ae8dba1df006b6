"""How calls were timed, in words, from the JSON form of a verdict or of live figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from widgets import format as fmt


def timed_text(figures: Mapping[str, Any]) -> str:
    """``cold cache, CUDA graph, launch 31 us (reference 12 us), 1980 MHz``; empty where nothing was timed."""
    return ", ".join(_parts(figures)) if figures.get("cache") else ""


def _parts(figures: Mapping[str, Any]) -> Iterator[str]:
    if figures.get("protocol") == "pkb":
        yield "protocol pkb"
        return
    yield f"{figures['cache']} cache"
    if figures.get("graph"):
        yield "CUDA graph"
    launch = figures.get("launch_ms")
    if launch:
        yield f"launch {fmt.duration(launch['candidate'])} (reference {fmt.duration(launch['reference'])})"
    if figures.get("clock_mhz"):
        yield f"{figures['clock_mhz']:.0f} MHz"
