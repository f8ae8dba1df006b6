"""Systems as data: what a topology file may hold, read strictly."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from workbench.errors import TopologyError
from workbench.strict import (
    Place,
    Readers,
    anything,
    by_name,
    choice,
    each,
    flag,
    number,
    parse_toml,
    read_table,
    read_text,
    read_value,
    required_fields,
    text,
    texts,
    whole,
)
from workbench.topology.model import Fact, GroupKind, Rates

SystemGraph = Literal["switch", "mesh", "torus", "tree"]
DTYPES = ("bfloat16", "float16", "tf32", "float32", "float64", "float8", "int8")
CEILINGS = ("copy engine", "bulk copy", "register", "any transfer")
"""Transfer mechanisms: the device's copy engines, asynchronous bulk copies (TMA), loads and stores of threads."""


@dataclass(frozen=True, kw_only=True)
class Hop:
    """Links of one level, seen from below: a device's, or a group's to the larger group that holds it."""

    kind: str
    gbps: Fact
    """One-way GB/s of one link."""
    count: int = 1
    """Links side by side: of a device or group to the larger one, of a pair (mesh), of one direction (torus)."""
    to: str = ""
    """What the links lead to, for switch and tree."""
    group: GroupKind = "switch"
    members: int = 0
    """Devices or smaller groups that hang on one of it."""
    alpha_us: Fact | None = None
    """Of one step over it, where it is more than the system's own."""


@dataclass(frozen=True, kw_only=True)
class Torus:
    """How a slice of a torus is cut; ``wrap``: an axis is a ring where this number divides its length."""

    most: tuple[int, ...]
    wrap: int
    every: bool = False
    """Whether all axes must be so before any is a ring."""


@dataclass(frozen=True, kw_only=True)
class System:
    """One system of the catalogue, or of the user's own files."""

    name: str
    title: str
    graph: SystemGraph
    device: Literal["gpu", "tpu"]
    model: str
    devices: int
    memory_gb: Fact
    links: tuple[Hop, ...]
    names: tuple[str, ...] = ()
    """Names by which the driver knows the device; a machine with it gets its rates from here."""
    torus: Torus | None = None
    notes: tuple[str, ...] = ()
    rates: Rates = field(default_factory=Rates)


_FACT: Readers = {"value": number, "source": text, "unsure": flag}
_HOP: Readers = {
    "kind": text,
    "gbps": anything,
    "count": whole,
    "to": text,
    "group": choice(*get_args(GroupKind)),
    "members": whole,
    "alpha_us": anything,
}
_TORUS: Readers = {"most": each(whole, "whole numbers"), "wrap": whole, "every": flag}
_OF_HOP = ("gbps", "alpha_us")
_RATES = ("hbm_gbps", "alpha_us", "nic_gbps")
_FILE: Readers = {
    "title": text,
    "graph": choice(*get_args(SystemGraph)),
    "device": choice("gpu", "tpu"),
    "model": text,
    "names": texts,
    "notes": texts,
    "devices": whole,
    "memory_gb": anything,
    **dict.fromkeys(_RATES, anything),
    "in_network_reduction": flag,
    "links": each(anything, "tables"),
    "torus": anything,
    "tflops": anything,
    "ceilings": anything,
    "sources": anything,
}
_REQUIRED = ("title", "graph", "device", "model", "devices", "memory_gb", "links", "sources")


def read_system(path: Path) -> System:
    """The system in a topology file. Raises TopologyError that names the file and the key."""
    place = Place(path, TopologyError)
    values = read_table(parse_toml(read_text(place), place), _FILE, _REQUIRED, place)
    sources = _sources(values.pop("sources"), place.at("sources"))
    facts: dict[str, Any] = {key: _fact(values.pop(key), sources, place.at(key)) for key in _RATES if key in values}
    tables: dict[str, Any] = {
        key: _facts(values.pop(key, {}), known, sources, place.at(key))
        for key, known in (("tflops", DTYPES), ("ceilings", CEILINGS))
    }
    rates = Rates(**facts, **tables, in_network_reduction=values.pop("in_network_reduction", False))
    values["memory_gb"] = _fact(values["memory_gb"], sources, place.at("memory_gb"))
    values["links"] = tuple(_hop(hop, sources, place.at("links").at(i)) for i, hop in enumerate(values["links"]))
    if "torus" in values:
        values["torus"] = Torus(**read_table(values["torus"], _TORUS, ("most", "wrap"), place.at("torus")))
    system = System(**values, name=path.stem, rates=rates)
    _check(system, place)
    return system


def facts_of(system: System) -> dict[str, Fact]:
    """Every figure of a system that has a source, by its name in the file."""
    hops = {f"links[{index}].{key}": getattr(hop, key) for index, hop in enumerate(system.links) for key in _OF_HOP}
    links = {name: fact for name, fact in hops.items() if fact is not None}
    return {"memory_gb": system.memory_gb, **links, **system.rates.facts}


def _sources(table: Any, place: Place) -> dict[str, str]:
    """Sources by the short names that figures use."""
    found: dict[str, str] = read_value(table, by_name(text, "strings"), place)
    return found


def _fact(value: Any, sources: Mapping[str, str], place: Place) -> Fact:
    fact = Fact(**read_table(value, _FACT, required_fields(Fact), place))
    if not 0 < fact.value < math.inf:
        raise place.at("value").error(f"must be above 0, not {fact.value!r}")
    if fact.source not in sources:
        raise place.at("source").error(f"{fact.source!r} is not in [sources]; known: {', '.join(sources)}")
    return dataclasses.replace(fact, source=sources[fact.source])


def _facts(table: Any, known: tuple[str, ...], sources: Mapping[str, str], place: Place) -> dict[str, Fact]:
    values = read_table(table, dict.fromkeys(known, anything), (), place)
    return {key: _fact(value, sources, place.at(key)) for key, value in values.items()}


def _hop(table: Any, sources: Mapping[str, str], place: Place) -> Hop:
    values = read_table(table, _HOP, required_fields(Hop), place)
    for key in _OF_HOP:
        if key in values:
            values[key] = _fact(values[key], sources, place.at(key))
    return Hop(**values)


def _check(system: System, place: Place) -> None:
    """The parts of a file must fit together."""
    if system.devices < 1 or not system.links:
        raise place.error("a system needs at least one device and one entry in [[links]]")
    if (system.graph == "torus") != (system.torus is not None):
        raise place.at("torus").error("belongs to the graph 'torus', and that graph needs it")
    if system.graph in ("mesh", "torus"):
        if len(system.links) > 1:
            raise place.at("links").error(f"a {system.graph} has links of one kind: one entry")
        return
    for index, hop in enumerate(system.links):
        if not hop.to or hop.members < 1:
            raise (
                place.at("links").at(index).error("needs 'to', where the links lead, and 'members', how many it holds")
            )
    held = math.prod(hop.members for hop in system.links)
    if held != system.devices:
        raise place.at("links").error(f"the members multiply to {held}, but there are {system.devices} devices")
