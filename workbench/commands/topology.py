"""``pkwb topology``: where the ranks run and how they are linked, on this machine or on a system of the catalogue."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.commands.arguments import add_flags, add_json, flag_values
from workbench.config import Settings
from workbench.devices import choose_device
from workbench.settings import load_settings
from workbench.tables import table
from workbench.topology.detect import detect
from workbench.topology.draw import draw
from workbench.topology.model import Fact, Topology, to_dict

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
    print(json.dumps(to_dict(topology)) if arguments.json else "\n".join(_drawing(topology)))
    return 0


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
    topology = place(system, min(settings.ranks.world, system.devices))
    facts = facts_of(system)
    if as_json:
        figures = {
            key: {"value": fact.value, "unsure": fact.unsure, "source": fact.source} for key, fact in facts.items()
        }
        print(
            json.dumps({**to_dict(topology), **_summary(system), "figures": figures, "sources": dict(system.sources)})
        )
        return 0
    reduction = "yes" if system.rates.in_network_reduction else "no"
    print("\n".join([f"{system.title} ({system.name}), {system.devices} devices", "", *_drawing(topology), ""]))
    print("\n".join([*_figures(facts), "", f"in-network reduction: {reduction}", "", "sources"]))
    print("\n".join(f"  {key}: {text}" for key, text in system.sources.items()))
    return 0


def _figures(facts: dict[str, Fact]) -> list[str]:
    rows = [
        (name, f"{fact.value:g}", _unit(name), fact.source, "unsure" if fact.unsure else "")
        for name, fact in facts.items()
    ]
    return table(("figure", "value", "", "source", ""), rows, right=(1,))


def _unit(name: str) -> str:
    first, _, last = name.partition(".")
    return _UNITS.get(last) or _UNITS.get(first, "of the link's rate")


def _drawing(topology: Topology) -> Iterator[str]:
    plain = (sys.stdout.encoding or "ascii").lower() not in ("utf-8", "utf8")
    yield from draw(topology, min(shutil.get_terminal_size().columns, _WIDEST), ascii=plain)
