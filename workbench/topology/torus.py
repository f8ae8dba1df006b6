"""Draws a torus: planes of devices joined to their neighbours, a mark where an axis is closed to a ring."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from workbench.topology.model import Topology

_RING = "~"


def torus(topology: Topology, width: int) -> list[str]:
    """Lines of at most ``width`` columns; nothing for other graphs.

    The last axis runs to the right, the one before it down; each plane of those two is drawn, one below the other.
    """
    if topology.graph != "torus" or not topology.links:
        return []
    axes = ((1, False), (1, False), *zip(topology.shape, topology.wraps))
    (rows, down), (columns, right) = axes[-2:]
    planes = len(topology.devices) // (rows * columns)
    room = max(len(_label(topology, number)) for number in range(len(topology.devices)))
    lines = _caption(topology, width)
    if columns * (room + 1) + 1 > width:
        return [*lines, *textwrap.wrap("too many devices to draw at this width", width)]
    for plane in range(planes):
        lines += [f"plane {plane + 1} of {planes}"] if planes > 1 else []
        lines += list(_plane(topology, plane * rows * columns, (rows, down), (columns, right), room))
    return lines


def _caption(topology: Topology, width: int) -> list[str]:
    """The slice, its links and what closes."""
    sides = " × ".join(map(str, topology.shape))
    parts = [f"{topology.devices[0].model}, slice of {sides}; [n] is rank n; each line: {topology.links[0].label}"]
    if sum(length > 1 for length in topology.shape) > 2:
        parts.append("planes are joined device by device")
    rings = [str(axis + 1) for axis, ring in enumerate(topology.wraps) if ring and topology.shape[axis] > 2]
    parts.append(f"{_RING} closes axis {', '.join(rings)} to a ring" if rings else "no axis is closed to a ring")
    return textwrap.wrap("; ".join(parts), width)


def _plane(topology: Topology, first: int, down: tuple[int, bool], right: tuple[int, bool], room: int) -> Iterator[str]:
    rows, columns = down[0], right[0]
    side = _RING if right[1] and columns > 2 else " "
    ends = " " + " ".join(_RING.center(room) for _ in range(columns))
    closed = down[1] and rows > 2
    if closed:
        yield ends
    for row in range(rows):
        cells = [_label(topology, first + row * columns + column).center(room, "─") for column in range(columns)]
        wire = "─".join(cells)
        yield side + (wire if side == _RING else _open(wire)) + side
        if row + 1 < rows:
            yield " " + " ".join("│".center(room) for _ in range(columns))
    if closed:
        yield ends


def _open(wire: str) -> str:
    """A row of devices without the ends of line that lead nowhere."""
    return wire.rstrip("─").lstrip("─").rjust(len(wire.rstrip("─")))


def _label(topology: Topology, number: int) -> str:
    device = topology.devices[number]
    return f"[{device.rank}]" if device.rank is not None else "[ ]"
