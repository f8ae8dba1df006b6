"""Draws links from device to device as a crossbar: one wire a device, a mark where two wires are linked."""

from __future__ import annotations

import textwrap

from workbench.topology.live import Live, live_list
from workbench.topology.model import Topology

_MARKS = "●◆■○"


def crossbar(topology: Topology, width: int, live: Live) -> list[str]:
    """Lines of at most ``width`` columns, a legend of the marks below; nothing where no two devices are linked.

    A device's wire runs to the right and then down; a mark at a crossing is a direct link, a bare crossing is none.
    What is ``live`` at a rank stands at the right, where it fits, else below.
    """
    names = [device.name for device in topology.devices]
    links = {frozenset((link.a, link.b)): link for link in topology.links if link.a in names and link.b in names}
    if not links:
        return []
    sorts = list(dict.fromkeys(link.label for link in links.values()))
    marks = {pair: _MARKS[min(sorts.index(link.label), len(_MARKS) - 1)] for pair, link in links.items()}
    legend = [text for place, sort in enumerate(sorts) for text in _legend(place, sort, width)]
    return _beside(_grid(topology, names, marks, width), topology, live, width) + legend


def _legend(place: int, sort: str, width: int) -> list[str]:
    mark = _MARKS[min(place, len(_MARKS) - 1)]
    return textwrap.wrap(f"{mark} {sort}", width, subsequent_indent="  ")


def _grid(topology: Topology, names: list[str], marks: dict[frozenset[str], str], width: int) -> list[str]:
    labels = [device.name if device.rank is None else f"rank {device.rank}" for device in topology.devices]
    step = 2 if 2 * len(names) + 4 <= width else 1
    room = max(1, min(max(map(len, labels)), width - step * len(names) - 2))
    lines = []
    for row, name in enumerate(names):
        crossings = [marks.get(frozenset((name, other)), "┼") for other in names[:row]]
        wire = "".join("─" * (step - 1) + crossing for crossing in crossings)
        corner = "─" * (step - 1) + ("┐" if row + 1 < len(names) else "╸")
        lines.append(f"{_short(labels[row], room):{room}} {wire}{corner}")
    return lines if step * len(names) + 2 < width else [f"{len(names)} devices: too many to draw at this width"]


def _beside(grid: list[str], topology: Topology, live: Live, width: int) -> list[str]:
    """The lines of the grid with what is live at each rank."""
    told = ["  ".join(live.get(device.rank, ())) if device.rank is not None else "" for device in topology.devices]
    column = max(map(len, grid)) + 2
    if len(grid) == len(told) and column + max(map(len, told)) <= width:
        return [f"{line:{column}}{text}".rstrip() for line, text in zip(grid, told)]
    return grid + live_list(live, width)


def _short(label: str, room: int) -> str:
    """The end of a label that is too long: the number is what tells ranks apart."""
    return label if len(label) <= room else label[-room:]
