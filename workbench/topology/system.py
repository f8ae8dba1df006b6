"""Systems as data: what a topology file may hold, read strictly."""

from __future__ import annotations

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
    parse_toml,
    read_table,
    read_text,
    read_value,
    required_fields,
)
from workbench.topology.model import Fact, GroupKind, Rates
from workbench.topology.readers import MOST_DEVICES, MOST_LINKS, axes, line, read_fact, split_name, up_to

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


_LINES = each(line, "lines of text")
_HOP: Readers = {
    "kind": line,
    "gbps": anything,
    "count": up_to(MOST_LINKS),
    "to": line,
    "group": choice(*get_args(GroupKind)),
    "members": up_to(MOST_DEVICES),
    "alpha_us": anything,
}
_UPWARDS = ("to", "group", "members")
"""Keys of links to something larger."""
_TORUS: Readers = {"most": axes, "wrap": up_to(MOST_DEVICES), "every": flag}
_OF_HOP = ("gbps", "alpha_us")
_TABLES = {"tflops": DTYPES, "ceilings": CEILINGS}
_SHARES = ("ceilings",)
_RATES = ("hbm_gbps", "alpha_us", "nic_gbps")
_FILE: Readers = {
    "title": line,
    "graph": choice(*get_args(SystemGraph)),
    "device": choice("gpu", "tpu"),
    "model": line,
    "names": _LINES,
    "notes": _LINES,
    "devices": up_to(MOST_DEVICES),
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
    facts: dict[str, Any] = {key: read_fact(values.pop(key), sources, place.at(key)) for key in _RATES if key in values}
    tables: dict[str, Any] = {
        key: _facts(values.pop(key, {}), known, sources, place.at(key)) for key, known in _TABLES.items()
    }
    rates = Rates(**facts, **tables, in_network_reduction=values.pop("in_network_reduction", False))
    values["memory_gb"] = read_fact(values["memory_gb"], sources, place.at("memory_gb"))
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
    found: dict[str, str] = read_value(table, by_name(line, "lines of text"), place)
    return found


def _facts(table: Any, known: tuple[str, ...], sources: Mapping[str, str], place: Place) -> dict[str, Fact]:
    values = read_table(table, dict.fromkeys(known, anything), (), place)
    share = {"most": 1.0} if place.key in _SHARES else {}
    return {key: read_fact(value, sources, place.at(key), **share) for key, value in values.items()}


def _hop(table: Any, sources: Mapping[str, str], place: Place) -> Hop:
    values = read_table(table, _HOP, required_fields(Hop), place)
    for key in _OF_HOP:
        if key in values:
            values[key] = read_fact(values[key], sources, place.at(key))
    return Hop(**values)


def _check(system: System, place: Place) -> None:
    """The parts of a file must fit together."""
    links = place.at("links")
    if not system.links:
        raise links.error("a system needs at least one entry in [[links]]")
    if (system.graph == "torus") != (system.torus is not None):
        raise place.at("torus").error("belongs to the graph 'torus', and that graph needs it")
    if system.graph != "tree" and len(system.links) > 1:
        raise links.error(f"a {system.graph} has links of one kind: one entry; levels of groups are a tree's")
    if system.torus is not None and math.prod(system.torus.most) < system.devices:
        raise place.at("torus.most").error(f"multiplies to less than the {system.devices} devices")
    (_check_direct if system.graph in ("mesh", "torus") else _check_levels)(system, links)


def _check_direct(system: System, links: Place) -> None:
    """Links from device to device lead to nothing larger."""
    for key in _UPWARDS:
        if getattr(system.links[0], key) != getattr(Hop, key):
            raise links.at(0).at(key).error("belongs to the graphs 'switch' and 'tree'")


def _check_levels(system: System, links: Place) -> None:
    """Each level has a name of its own, since drawings and floors tell groups apart by it."""
    names: list[str] = [system.device]
    for index, hop in enumerate(system.links):
        if not hop.to or hop.members < 1:
            raise links.at(index).error("needs 'to', where the links lead, and 'members', how many it holds")
        names.append(split_name(hop.to))
        if names.index(names[-1]) <= index:
            raise links.at(index).at("to").error(f"{hop.to!r} is a device's or another level's name; choose another")
    held = math.prod(hop.members for hop in system.links)
    if held != system.devices:
        raise links.error(f"the members multiply to {held}, but there are {system.devices} devices")
