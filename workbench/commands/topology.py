"""``pkwb topology``: where the ranks run and how they are linked, on this machine or on a system of the catalogue."""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import sys
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.commands.arguments import add_flags, add_json, flag_values
from workbench.config import Settings
from workbench.devices import choose_device
from workbench.settings import load_settings
from workbench.tables import table
from workbench.topology.detect import detect
from workbench.topology.draw import draw
from workbench.topology.model import Fact, Topology, to_dict, to_json

if TYPE_CHECKING:
    from workbench.topology.system import System

_WIDEST = 120
_UNITS = {
    "memory_gb": "GB",
    "hbm_gbps": "GB/s",
    "alpha_us": "us",
    "nic_gbps": "GB/s",
    "tflops": "TFLOP/s",
    "gbps": "GB/s",
}
"""Units by the last or first part of a figure's name."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("name", metavar="NAME", nargs="?", help="a system of the catalogue, or a topology file")
    parser.add_argument("--list", action="store_true", help="list the systems of the catalogue")
    add_flags(parser, "ranks.world", "ranks.device")
    add_json(parser, "print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print a topology, or the list of those that are known."""
    settings = load_settings(flag_values(arguments))
    if arguments.list:
        return _list(settings, arguments.json)
    name = arguments.name or settings.topology.name
    if name:
        return _system(name, settings, arguments.json)
    device = choose_device(settings.ranks.device, settings.ranks.world, settings.ranks.python)
    topology = detect(settings.ranks.world, device)
    if arguments.json:
        print(to_json(topology))
        return 0
    print("\n".join([*_drawing(topology), "", *_others(settings)]))
    return 0


def _others(settings: Settings) -> list[str]:
    from workbench.topology.catalogue import system_files

    names = ", ".join(system_files(settings.topology.paths))
    return textwrap.wrap(f"Other systems, for 'pkwb topology NAME': {names}", _width(), break_on_hyphens=False)


def _list(settings: Settings, as_json: bool) -> int:
    from workbench.topology.catalogue import systems

    found = systems(settings.topology.paths)
    if as_json:
        print(json.dumps([_summary(system) for system in found]))
        return 0
    rows = [(item.name, str(item.devices), item.graph, _rate(item), item.title) for item in found]
    print("\n".join(table(("name", "devices", "graph", "GB/s a link or device", ""), rows, right=(1,))))
    return 0


def _summary(system: System) -> dict[str, object]:
    return {
        "name": system.name,
        "title": system.title,
        "devices": system.devices,
        "graph": system.graph,
        "model": system.model,
    }


def _rate(system: System) -> str:
    hop = system.links[0]
    return (
        f"{hop.gbps.value:g}"
        if hop.count == 1
        else f"{hop.count} × {hop.gbps.value:g} = {hop.count * hop.gbps.value:g}"
    )


def _system(name: str, settings: Settings, as_json: bool) -> int:
    from workbench.topology.catalogue import find_system
    from workbench.topology.placing import place
    from workbench.topology.system import facts_of

    system = find_system(name, settings.topology.paths)
    topology = place(system, settings.ranks.world)
    facts = facts_of(system)
    if as_json:
        figures = {name: dataclasses.asdict(fact) for name, fact in facts.items()}
        print(json.dumps({**to_dict(topology), **_summary(system), "figures": figures}))
        return 0
    print("\n".join([f"{system.title} ({system.name}), {system.devices} devices", "", *_drawing(topology), ""]))
    print("\n".join([*_figures(facts), *_switches(system)]))
    return 0


def _figures(facts: dict[str, Fact]) -> list[str]:
    """The figures, then their sources by number."""
    sources = list(dict.fromkeys(fact.source for fact in facts.values()))
    rows = [
        (name, f"{fact.value:g}", _unit(name), f"[{sources.index(fact.source) + 1}]", "unsure" if fact.unsure else "")
        for name, fact in facts.items()
    ]
    numbered = [f"[{number}] {source}" for number, source in enumerate(sources, 1)]
    return [*table(("figure", "value", "", "", ""), rows, right=(1,)), "", *numbered]


def _switches(system: System) -> list[str]:
    """Whether switches can add, where there are any."""
    if system.graph not in ("switch", "tree"):
        return []
    return ["", f"in-network reduction: {'yes' if system.rates.in_network_reduction else 'no'}"]


def _unit(name: str) -> str:
    first, _, last = name.partition(".")
    return _UNITS.get(last) or _UNITS.get(first, "of the link's rate")


def _drawing(topology: Topology) -> Iterator[str]:
    plain = (sys.stdout.encoding or "ascii").lower() not in ("utf-8", "utf8")
    yield from draw(topology, _width(), ascii=plain)


def _width() -> int:
    return min(shutil.get_terminal_size().columns, _WIDEST)
