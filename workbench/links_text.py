"""Measured links as plain text: a table and a plot by message size, a table by block count, the ceilings."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence

from workbench.judge.links import LARGE, LinkRate, LinkReport, ceilings
from workbench.tables import table

_UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_ROWS = 12
"""Lines of the plot."""
_CELL = 6
"""Columns of the plot a message size; where more letters meet in one place, a plus stands for the rest."""


def links_text(report: LinkReport) -> list[str]:
    """Everything that was measured, in lines of at most 80 columns as long as there are few mechanisms."""
    letters = dict(zip(dict.fromkeys(rate.mechanism for rate in report.rates), string.ascii_lowercase))
    usual = _usual(report.rates)
    parts = [
        [f"Links between {report.world} ranks on this machine ({report.device}, torch {report.torch})", *_HOW],
        [f"{letter}  {name}" for name, letter in letters.items()],
        ["one way, GB/s", *_sizes(usual, letters, two_way=False)],
        _plot(usual, letters),
        ["both ways at once, GB/s of both together", *_sizes(usual, letters, two_way=True)],
        _blocks(report.rates),
        _ceilings(report.rates),
        [f"left out: {left.mechanism}: {left.why}" for left in report.left_out],
    ]
    return [line for part in parts if part for line in (*part, "")][:-1]


_HOW = (
    "Median of the calls, each as long as its slowest rank; GB/s is 1e9 bytes a",
    "second, busbw for all_reduce. The same buffers are used again and again, so",
    "that small messages come out of caches.",
)


def size_text(count: int) -> str:
    """Bytes in powers of two: ``2 KiB``, ``1 GiB``."""
    for unit, name in _UNITS:
        if count >= unit:
            return f"{count / unit:g} {name}" if count % unit == 0 else f"{count / unit:.1f} {name}"
    return f"{count} B"


def _usual(rates: Sequence[LinkRate]) -> list[LinkRate]:
    """Rates with each mechanism's usual block count, which is the largest."""
    most = {rate.mechanism: rate.blocks for rate in sorted(rates, key=lambda rate: rate.blocks or 0)}
    return [rate for rate in rates if rate.blocks == most[rate.mechanism]]


def _sizes(rates: Sequence[LinkRate], letters: dict[str, str], two_way: bool) -> list[str]:
    chosen = {(rate.bytes, rate.mechanism): rate for rate in rates if rate.two_way == two_way}
    names = [name for name in letters if any(name == mechanism for _, mechanism in chosen)]
    rows = [
        (size_text(size), *(_figure(chosen.get((size, name))) for name in names))
        for size in sorted({size for size, _ in chosen})
    ]
    head = ("message", *(letters[name] for name in names))
    return table(head, rows, right=range(len(head)))


def _figure(rate: LinkRate | None) -> str:
    if rate is None:
        return "-"
    return f"{rate.gbps:.3g}" if rate.verified else "wrong data"


def _plot(rates: Sequence[LinkRate], letters: dict[str, str]) -> list[str]:
    """One-way rate over message size, both logarithmic: each mechanism's letter at its height."""
    one_way = [rate for rate in rates if not rate.two_way and rate.verified and rate.gbps > 0]
    if not one_way:
        return []
    low, high = (math.log10(edge(rate.gbps for rate in one_way)) for edge in (min, max))
    step = (high - low) / (_ROWS - 1) or 1.0
    cells: dict[tuple[int, int], str] = {}
    for rate in one_way:
        place = round((math.log10(rate.gbps) - low) / step), rate.bytes
        cells[place] = cells.get(place, "") + letters[rate.mechanism]
    columns = sorted({rate.bytes for rate in one_way})
    lines = [f"{_label(low + row * step)} |{_line(cells, row, columns)}" for row in reversed(range(_ROWS))]
    names = "".join(_short(size).center(_CELL) for size in columns).rstrip()
    return [*lines, f"{'GB/s':>8} +{'-' * _CELL * len(columns)}", " " * 10 + names]


def _label(exponent: float) -> str:
    return f"{10**exponent:8.2g}" if exponent < 2 else f"{10**exponent:8.0f}"


def _line(cells: dict[tuple[int, int], str], row: int, columns: Sequence[int]) -> str:
    found = (cells.get((row, size), "") for size in columns)
    fitting = (text if len(text) <= _CELL else f"{text[: _CELL - 1]}+" for text in found)
    return "".join(text.center(_CELL) for text in fitting).rstrip()


def _short(size: int) -> str:
    return size_text(size).replace(" ", "").removesuffix("iB")


def _blocks(rates: Sequence[LinkRate]) -> list[str]:
    """One-way rates of the largest message by block count; nothing where no kernel copies."""
    one_way = [rate for rate in rates if rate.blocks and not rate.two_way]
    largest = max((rate.bytes for rate in one_way), default=0)
    found = {(rate.blocks or 0, rate.mechanism): rate for rate in one_way if rate.bytes == largest}
    if not found:
        return []
    names = tuple(dict.fromkeys(mechanism for _, mechanism in found))
    counts = sorted({blocks for blocks, _ in found})
    rows = [(str(count), *(_figure(found.get((count, name))) for name in names)) for count in counts]
    head = ("blocks", *names)
    return [f"{size_text(largest)} one way by thread blocks, GB/s", *table(head, rows, right=range(len(head)))]


def _ceilings(rates: Sequence[LinkRate]) -> list[str]:
    rows = [
        (
            rate.mechanism,
            "both ways" if rate.two_way else "one way",
            f"{rate.gbps:.3g}",
            size_text(rate.bytes),
            str(rate.blocks or ""),
        )
        for rate in ceilings(rates)
    ]
    head = ("mechanism", "", "GB/s", "message", "blocks")
    return (
        [f"ceilings: the best of messages from {size_text(LARGE)} on", *table(head, rows, right=(2, 3, 4))]
        if rows
        else []
    )
