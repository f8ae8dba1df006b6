"""A problem's roofline for people and programs, as ``pkwb show`` prints it."""

from __future__ import annotations

import dataclasses
from typing import Any

from problems.model import Binding
from widgets.floors import least
from workbench.config import Settings
from workbench.devices import place_ranks
from workbench.errors import UsageError
from workbench.resolve import shared_gpus, what_if_topology
from workbench.topology.cost import Roofline, roofline
from workbench.topology.detect import detect
from workbench.topology.terms import work_of

Rows = list[tuple[str, str]]


def find_roofline(binding: Binding, settings: Settings) -> Roofline | str:
    """The roofline on the chosen system, else on this machine; a sentence where there is none.

    Raises TopologyError for a system that is unknown or too small.
    """
    work = work_of(binding)
    if work is None:
        return "Not known: pkwb has no description of this task."
    chosen = what_if_topology(settings, binding.world)
    if chosen is not None:
        return roofline(work, chosen)
    try:
        device, shared = place_ranks(settings.ranks, binding.world)
        if shared:
            return f"Not known: {shared_gpus(shared).words(binding.world)}; choose a system with --topology."
        return roofline(work, detect(binding.world, device))
    except UsageError as error:
        return f"Not known: {error}."


def roofline_rows(found: Roofline | str, number: int | None) -> Rows:
    """The floor, its terms with their arithmetic, ceilings and what to know about them.

    ``number`` is the problem's, for advice to people on a floor that is not known; None for no advice.
    """
    if isinstance(found, str):
        return [("floor", found)]
    rows = [("floor", _floor(found, number))]
    rows += [(term.name, _term(term.seconds, term.words)) for term in found.terms]
    if found.in_network_s is not None:
        rows.append(("in-network reduction", f"floor {_time(found.in_network_s)}, where switches add and multicast"))
    rows += _ceilings(found)
    return rows + [("note" if not place else "", note) for place, note in enumerate(found.notes)]


def roofline_document(found: Roofline | str) -> dict[str, Any]:
    """The roofline as plain data, times in ms."""
    if isinstance(found, str):
        return {"floor_ms": None, "reason": found}
    return {
        "topology": found.topology,
        "what_if": found.imagined,
        "floor_ms": _ms(found.floor_s),
        "binding": found.binding,
        "terms": {term.name: {"ms": _ms(term.seconds), "words": term.words} for term in found.terms},
        "in_network_ms": _ms(found.in_network_s),
        "ceilings": [{**dataclasses.asdict(one), "ms": _ms(one.seconds)} for one in found.ceilings],
        "notes": list(found.notes),
        "measured": found.measured,
    }


def _ceilings(found: Roofline) -> Rows:
    """Each transfer mechanism at its share of the link, then where that was seen: numbered where there are several."""
    seen = list(dict.fromkeys(ceiling.source for ceiling in found.ceilings))
    marks = {source: f" [{place}]" if len(seen) > 1 else "" for place, source in enumerate(seen, 1)}
    rows = [
        (
            f"by {one.mechanism}",
            f"link {_time(one.seconds)}, at {one.share:.0%} of the link's rate{marks[one.source]}",
        )
        for one in found.ceilings
    ]
    return rows + [
        ("seen in" if not at else "", f"{marks[one].lstrip()} {one}".lstrip()) for at, one in enumerate(seen)
    ]


def _floor(found: Roofline, number: int | None) -> str:
    if found.floor_s is None:
        told = found.measured and number is not None
        advice = f"; 'pkwb open {number}' measures it, or choose a system with --topology" if told else ""
        return f"not known: {found.term('link').words}{advice}"
    binds = f", {found.binding} binds" if found.binding else ""
    return f"{_time(found.floor_s)}{binds}: max(link, memory, compute) + latency"


def _term(seconds: float | None, words: str) -> str:
    return words if seconds is None else f"{_time(seconds)}: {words}"


def _time(seconds: float) -> str:
    return least(seconds * 1e3)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3
