"""Plain text tables for stdout."""

from __future__ import annotations

from collections.abc import Sequence


def table(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Lines of columns two blanks apart; the columns in ``right`` are aligned to the right."""
    lines = [tuple(head), *(tuple(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(head))]
    return ["  ".join(_cells(line, widths, right)).rstrip() for line in lines]


def _cells(line: Sequence[str], widths: Sequence[int], right: Sequence[int]) -> list[str]:
    aligned = zip(line, widths, strict=True)
    return [cell.rjust(width) if i in right else cell.ljust(width) for i, (cell, width) in enumerate(aligned)]
