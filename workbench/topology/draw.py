"""Draws a topology with box characters, for 30 to 120 columns.

Groups are frames, devices are boxes. What hangs on a group by links is joined to its trunk, the heavy line on the
left; links from device to device are drawn by :mod:`workbench.topology.crossbar`, a torus by
:mod:`workbench.topology.torus`.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from workbench.topology.ceilings import ceiling_notes
from workbench.topology.crossbar import Live, crossbar
from workbench.topology.model import Device, Group, Topology
from workbench.topology.torus import torus

NARROWEST = 30
Texts = tuple[str, ...]
_NOTHING: Live = {}
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


@dataclass(frozen=True)
class _Line:
    """One line of a block; ``bus`` lines are joined to the trunk at their left."""

    text: str
    bus: bool = False


def draw(topology: Topology, width: int, ascii: bool = False, live: Live = _NOTHING) -> list[str]:
    """The topology in lines of at most ``width`` columns (at least 30), without trailing blanks.

    ``live`` has short lines about what goes on at a rank's links, by rank; they stand with the rank.
    """
    width = max(width, NARROWEST)
    lines = [line.text for line in _outside(_Scene(topology, live), width)]
    lines += torus(topology, width) or crossbar(topology, width, live)
    for note in (*topology.notes, *ceiling_notes(topology)):
        lines += textwrap.wrap(note, width)
    lines = [line.rstrip() for line in lines]
    return [_plain(line) for line in lines] if ascii else lines


def _plain(line: str) -> str:
    return line.translate(_ASCII).encode("ascii", "replace").decode()


def _outside(scene: _Scene, width: int) -> Iterator[_Line]:
    topology = scene.topology
    grouped = {member for group in topology.groups for member in group.members}
    for group in topology.outermost:
        title = f"{group.name} · {group.detail}" if group.detail else group.name
        yield from (_Line(text) for text in textwrap.wrap(title, width))
        yield from _group(scene, group, width)
    loose = [device for device in topology.devices if device.name not in grouped]
    if loose and not topology.links:
        yield from _devices(loose, width, frozenset(), scene.live)


def _group(scene: _Scene, group: Group, width: int) -> list[_Line]:
    """The inside of a group: frames of smaller groups and rows of devices, on its trunk where links hang on it."""
    topology = scene.topology
    links = topology.links_to(group.name)
    hanging = frozenset(link.a for link in links)
    inner = width - 2 if links else width
    lines: list[_Line] = []
    smaller = {inside.name: inside for inside in topology.groups}
    for framed, names in groupby(group.members, lambda name: name in smaller):
        if framed:
            for name in names:
                lines += _frame(scene, smaller[name], inner, name in hanging)
        else:
            lines += _devices([topology.by_name[name] for name in names], inner, _hanging(topology), scene.live)
    return _trunk(lines, "; ".join(dict.fromkeys(link.label for link in links)), width) if links else lines


def _hanging(topology: Topology) -> frozenset[str]:
    """Names that hang on some group."""
    groups = {group.name for group in topology.groups}
    return frozenset(link.a for link in topology.links if link.b in groups)


def _trunk(lines: list[_Line], label: str, width: int) -> list[_Line]:
    """Put the heavy line at the left: it starts beside its label and ends at the last line that is joined to it."""
    first, *more = textwrap.wrap(label, width - 3)
    head = [_Line(f"┏━ {first}"), *(_Line(f"┃  {text}") for text in more)]
    last = max((place for place, line in enumerate(lines) if line.bus), default=-1)
    body = [_Line(_mark(place, last, line.bus) + line.text) for place, line in enumerate(lines)]
    return head + body


def _mark(place: int, last: int, bus: bool) -> str:
    if place > last:
        return "  "
    if not bus:
        return "┃ "
    return "┗━" if place == last else "┣━"


def _frame(scene: _Scene, group: Group, width: int, joined: bool) -> list[_Line]:
    """A smaller group with a frame around it; buses inside go through its left side to the trunk outside."""
    title = f"{group.name} · {group.detail}" if group.detail else group.name
    title = _cut(title, width - 5)
    inside = _group(scene, group, width - 3)
    top = _Line(f"┌ {title} ".ljust(width - 1, "─") + "┐", joined)
    middle = [_Line(("┿━" if line.bus else "│ ") + line.text.ljust(width - 3) + "│", line.bus) for line in inside]
    return [top, *middle, _Line("└" + "─" * (width - 2) + "┘")]


def _devices(devices: list[Device], width: int, hanging: frozenset[str], live: Live) -> list[_Line]:
    """Boxes side by side, as many as fit; each row has its bus below when its devices hang on a trunk."""
    texts = _level([(*_texts(device), *_live(device, live)) for device in devices])
    lines: list[_Line] = []
    if len(devices) > 2 * _fitting(texts, width) and len({text[1] for text in texts}) == 1:
        lines = [_Line(_cut(f"ranks, {texts[0][1]} each", width))]
        texts = [(name.removeprefix("rank "), *rest) for name, _, *rest in texts]
    rows = math.ceil(len(devices) / _fitting(texts, width))
    beside = math.ceil(len(devices) / rows)
    for start in range(0, len(devices), beside):
        joined = [device.name in hanging for device in devices[start : start + beside]]
        lines += _row(texts[start : start + beside], joined, min(_longest(texts), width - 4))
    return lines


def _live(device: Device, live: Live) -> Texts:
    return tuple(live.get(device.rank, ())) if device.rank is not None else ()


def _level(texts: list[Texts]) -> list[Texts]:
    """All boxes as high as the highest."""
    height = max(map(len, texts), default=0)
    return [(*text, *[""] * (height - len(text))) for text in texts]


def _fitting(texts: list[Texts], width: int) -> int:
    """How many boxes fit side by side."""
    return max(1, (width + 1) // (_longest(texts) + 5))


def _longest(texts: list[Texts]) -> int:
    return max(len(text) for box in texts for text in box)


def _texts(device: Device) -> Texts:
    """The two lines in a device's box: its rank, and what it is."""
    if device.kind == "cpu":
        detail = f"{device.cores} core{'s' if device.cores != 1 else ''}" if device.cores else device.model
    else:
        memory = f"{device.memory_bytes / 1e9:.0f} GB" if device.memory_bytes else ""
        detail = " ".join(filter(None, (device.model, memory)))
    name = device.name if device.rank is None else f"rank {device.rank}"
    return name, detail or device.name


def _row(texts: list[Texts], joined: list[bool], inner: int) -> list[_Line]:
    side, middle = "─" * (inner + 2), (inner + 2) // 2
    foot = "─" * middle + "┬" + "─" * (inner + 1 - middle)
    lines = [_Line(" ".join(f"┌{side}┐" for _ in texts))]
    lines += [_Line(" ".join(f"│ {_cut(text, inner):{inner}} │" for text in part)) for part in zip(*texts, strict=True)]
    lines.append(_Line(" ".join(f"└{foot if hangs else side}┘" for hangs in joined)))
    if any(joined):
        lines.append(_Line(_bus(joined, inner + 5, middle + 1), bus=True))
    return lines


def _bus(joined: list[bool], step: int, drop: int) -> str:
    """The line below a row of boxes, from the left to the last box that hangs on it."""
    drops = [place * step + drop for place, hangs in enumerate(joined) if hangs]
    return "".join("┷" if column in drops else "━" for column in range(drops[-1])) + "┙"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: max(width - 1, 0)] + "…"
