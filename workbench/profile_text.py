"""The profile of a call as lines of text, from a verdict in JSON form."""

from __future__ import annotations

from typing import Any


def rank_lines(profile: dict[str, Any]) -> list[str]:
    """``rank 0: 1.200 ms: compute 0.900, communication 0.500 (40% of it under compute), neither 0.200``, by rank."""
    return [f"rank {rank['rank']}: {_stages(rank)}" for rank in profile["ranks"]]


def slowest_line(profile: dict[str, Any] | None) -> str:
    """The same of the rank that took longest, or why there is none; empty without a profile."""
    if profile is None:
        return ""
    if not profile["ranks"]:
        return str(profile["note"])
    slowest = max(profile["ranks"], key=lambda rank: float(rank["whole_ms"]))
    return f"rank {slowest['rank']}: {_stages(slowest)}"


def ran_lines(profile: dict[str, Any]) -> list[str]:
    """``collective all_reduce: 2 calls``, ``kernel add_kernel: 1 call, 0.012 ms``: what ran on rank 0."""
    return [_ran(one) for one in profile["ran"]]


def _stages(rank: dict[str, Any]) -> str:
    moving, both = rank["communication_ms"], rank["overlap_ms"]
    hidden = f" ({both / moving:.0%} of it under compute)" if moving > 0 else ""
    return (
        f"{rank['whole_ms']:.3f} ms: compute {rank['compute_ms']:.3f}, communication {moving:.3f}{hidden}, "
        f"neither {rank['gap_ms']:.3f}"
    )


def _ran(one: dict[str, Any]) -> str:
    calls = f"{one['calls']} call{'s' if one['calls'] != 1 else ''}"
    took = "" if one["kind"] == "collective" else f", {one['ms']:.3f} ms"
    return f"{one['kind']} {one['name']}: {calls}{took}"
