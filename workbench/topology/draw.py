"""Draws a topology with box characters, for 30 to 120 columns.

Groups are frames, devices are boxes. What hangs on a group by links is joined to its trunk, the heavy line on the
left; links from device to device are drawn by :mod:`workbench.topology.crossbar`, a torus by
:mod:`workbench.topology.torus`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from workbench.topology.boxes import Line, cut, device_rows
from workbench.topology.ceilings import ceiling_notes
from workbench.topology.crossbar import crossbar
from workbench.topology.live import NOTHING, Live, live_list
from workbench.topology.model import Group, Topology
from workbench.topology.torus import torus

NARROWEST = 30
_ONE_WAY = " one way"
"""What labels of links end in; all rates are."""
_ASCII = str.maketrans(
    {
        **dict.fromkeys("│┃", "|"),
        **dict.fromkeys("─", "-"),
        **dict.fromkeys("━", "="),
        **dict.fromkeys("┌┐└┘┬┴├┤┼┿┷┙┣┗┏╸", "+"),
    }
    | {"●": "*", "◆": "#", "■": "@", "○": "o", "·": "-", "×": "x", "…": "~"}
)


@dataclass(frozen=True)
class _Scene:
    """What is drawn."""

    topology: Topology
    live: Live


def draw(topology: Topology, width: int, ascii: bool = False, live: Live = NOTHING) -> list[str]:
    """The topology in lines of at most ``width`` columns (at least 30), without trailing blanks.

    ``live`` has short lines about what goes on at a rank's links, by rank; they stand with the rank, or below the
    drawing where that is shorter.
    """
    width = max(width, NARROWEST)
    lines = _boxes(topology, width, live)
    lines += torus(topology, width) or crossbar(topology, width, live)
    for note in (*topology.notes, *ceiling_notes(topology)):
        lines += textwrap.wrap(note, width)
    lines = [line.rstrip() for line in lines]
    return [_plain(line) for line in lines] if ascii else lines


def _boxes(topology: Topology, width: int, live: Live) -> list[str]:
    """Groups and what is in them; nothing where devices have links to each other alone."""
    inside, outside = ([line.text for line in _outside(_Scene(topology, told), width)] for told in (live, NOTHING))
    below = outside + live_list(live, width)
    return inside if len(inside) <= len(below) or not inside else below


def _plain(line: str) -> str:
    return line.translate(_ASCII).encode("ascii", "replace").decode()


def _outside(scene: _Scene, width: int) -> Iterator[Line]:
    topology = scene.topology
    grouped = {member for group in topology.groups for member in group.members}
    for group in topology.outermost:
        title = f"{group.name} · {group.detail}" if group.detail else group.name
        yield from (Line(text) for text in textwrap.wrap(title, width))
        yield from _group(scene, group, width)
    loose = [device for device in topology.devices if device.name not in grouped]
    if loose and not topology.links:
        yield from device_rows(loose, width, frozenset(), scene.live)


def _group(scene: _Scene, group: Group, width: int) -> list[Line]:
    """The inside of a group: frames of smaller groups and rows of devices, on its trunk where links hang on it."""
    topology = scene.topology
    links = topology.links_to(group.name)
    hanging = frozenset(link.a for link in links)
    inner = width - 2 if links else width
    lines: list[Line] = []
    smaller = {inside.name: inside for inside in topology.groups}
    for framed, names in groupby(group.members, lambda name: name in smaller):
        if framed:
            for name in names:
                lines += _frame(scene, smaller[name], inner, name in hanging)
        else:
            lines += device_rows([topology.by_name[name] for name in names], inner, _hanging(topology), scene.live)
    return _trunk(lines, "; ".join(dict.fromkeys(link.label for link in links)), width) if links else lines


def _hanging(topology: Topology) -> frozenset[str]:
    """Names that hang on some group."""
    groups = {group.name for group in topology.groups}
    return frozenset(link.a for link in topology.links if link.b in groups)


def _trunk(lines: list[Line], label: str, width: int) -> list[Line]:
    """Put the heavy line at the left: it starts beside its label and ends at the last line that is joined to it."""
    if len(label) > width - 3:
        label = label.replace(_ONE_WAY, "")
    first, *more = textwrap.wrap(label, width - 3)
    head = [Line(f"┏━ {first}"), *(Line(f"┃  {text}") for text in more)]
    last = max((place for place, line in enumerate(lines) if line.bus), default=-1)
    body = [Line(_mark(place, last, line.bus) + line.text) for place, line in enumerate(lines)]
    return head + body


def _mark(place: int, last: int, bus: bool) -> str:
    if place > last:
        return "  "
    if not bus:
        return "┃ "
    return "┗━" if place == last else "┣━"


def _frame(scene: _Scene, group: Group, width: int, joined: bool) -> list[Line]:
    """A smaller group with a frame around it; buses inside go through its left side to the trunk outside."""
    title = f"{group.name} · {group.detail}" if group.detail else group.name
    title = cut(title, width - 5)
    inside = _group(scene, group, width - 3)
    top = Line(f"┌ {title} ".ljust(width - 1, "─") + "┐", joined)
    middle = [Line(("┿━" if line.bus else "│ ") + line.text.ljust(width - 3) + "│", line.bus) for line in inside]
    return [top, *middle, Line("└" + "─" * (width - 2) + "┘")]
