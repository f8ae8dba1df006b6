"""What moves over the ranks' links, in words: effective figures of an attempt, and what the driver counts."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from widgets import format as fmt
from widgets.attempt import AttemptView
from widgets.state import RunView
from workbench.events import Bandwidth, GpuLoad, LinkCounters, Telemetry

_WORTH: Mapping[LinkCounters, str] = {
    "zero": "On the wire: not shown, the driver's NVLink counters are there and read 0, as in many virtual machines.",
    "absent": "On the wire: not shown, the driver does not count NVLink traffic.",
    "still": "On the wire: the driver counts, and nothing has crossed the NVLinks since.",
    "moving": "out, in: GB/s on a rank's NVLinks since the look before, by the driver's counters.",
}
"""What is said once about counters, the worst state first."""
_CELL = 6
"""Columns of a figure in the table of pairs."""


@dataclass(frozen=True, kw_only=True)
class Edges:
    """Short lines by rank, and the lines that explain them."""

    by_rank: Mapping[int, tuple[str, ...]]
    pairs: Mapping[tuple[int, int], float]
    """GB/s on the wire from one rank to another, where links lead from GPU to GPU."""
    legend: tuple[str, ...]


def edges(view: RunView) -> Edges:
    """What is known of the links now. Effective figures are those of the current attempt, else of the last good one."""
    found = _measured(view)
    rate = found.bandwidth if found is not None else None
    gpus = view.telemetry.gpus if view.telemetry else ()
    effective = _effective(rate)
    wire = {gpu.rank: _wire(gpu) for gpu in gpus}
    ranks = sorted({*effective, *wire})
    told = {rank: tuple(filter(None, (effective.get(rank, ""), wire.get(rank, "")))) for rank in ranks}
    legend = (_origin(found) if found is not None and effective else "", _counted(view.telemetry))
    return Edges(
        by_rank={rank: lines for rank, lines in told.items() if lines},
        pairs={(gpu.rank, peer.rank): peer.sent_gbps for gpu in gpus for peer in gpu.peers},
        legend=tuple(filter(None, legend)),
    )


def pair_lines(pairs: Mapping[tuple[int, int], float], width: int) -> list[str]:
    """A table of GB/s from row to column; a list where it is too wide."""
    if not pairs:
        return []
    ranks = sorted({rank for pair in pairs for rank in pair})
    head = "GB/s on the wire from the rank of a row to that of a column, by the driver's counters:"
    rows = [" " * 8 + "".join(f"{rank:>{_CELL}}" for rank in ranks)]
    for row in ranks:
        cells = (_brief(pairs[row, column]) if (row, column) in pairs else "-" for column in ranks)
        rows.append(f"rank {row:<3}" + "".join(f"{cell:>{_CELL}}" for cell in cells))
    if max(map(len, rows)) > width:
        told = ", ".join(f"{one} to {other} {_brief(gbps)}" for (one, other), gbps in sorted(pairs.items()))
        return textwrap.wrap(f"GB/s on the wire between ranks, by the driver's counters: {told}", width)
    return [*textwrap.wrap(head, width), *rows]


def _measured(view: RunView) -> AttemptView | None:
    for attempt in (view.current, view.good):
        if attempt is not None and attempt.bandwidth is not None:
            return attempt
    return None


def _effective(rate: Bandwidth | None) -> dict[int, str]:
    """By rank; a rank that needs no byte of others has none."""
    ranks = rate.ranks if rate is not None else ()
    return {one.rank: f"eff {fmt.bandwidth(one.gbps)}" for one in ranks if one.needed_bytes}


def _origin(found: AttemptView) -> str:
    live = "" if found.finished else ", which is being timed"
    return (
        f"eff: effective, the bytes that a rank needs over the time of #{found.number}{live}; not counted on the wire."
    )


def _wire(gpu: GpuLoad) -> str:
    if gpu.sent_gbps is None or gpu.received_gbps is None:
        return ""
    return f"out {_brief(gpu.sent_gbps)} in {_brief(gpu.received_gbps)}"


def _brief(gbps: float) -> str:
    """``12.3``, and ``212`` from a hundred on."""
    return f"{gbps:.0f}" if gbps >= 99.95 else f"{gbps:.1f}"


def _counted(now: Telemetry | None) -> str:
    """One line about the counters of all GPUs: the worst that is true of one of them."""
    states = {gpu.counters for gpu in now.gpus} if now is not None else set()
    return next((words for state, words in _WORTH.items() if state in states), "")
