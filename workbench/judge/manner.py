"""How calls are timed, where that is not the usual way."""

from __future__ import annotations


def begins_cold(cache: str, device: str) -> bool:
    """Whether timed calls begin with cold caches, by the setting: ``auto`` is cold on GPUs, warm on the CPU."""
    return cache == "cold" or (cache == "auto" and device == "cuda")


def manner(protocol: str, graph: bool, cold: bool, device: str) -> str:
    """How calls were timed where that is out of the ordinary, since such times compare with their like only.

    ``protocol pkb``, ``graph``, ``warm cache`` on a GPU, ``cold cache`` on the CPU; empty for the usual way.
    """
    if protocol == "pkb":
        return "protocol pkb"
    usual = cold == begins_cold("auto", device)
    return " ".join(filter(None, ("graph" if graph else "", "" if usual else f"{'cold' if cold else 'warm'} cache")))
