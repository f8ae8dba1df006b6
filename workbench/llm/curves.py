"""Curves of fast_p as text: each row of scores is a letter, the place of a letter its share."""

from __future__ import annotations

import string
from collections.abc import Sequence

from workbench.llm.scores import CURVE, Row

_HEIGHT = 11
"""Lines from 0 to 100%."""
_STEP = 4
"""Columns from one p to the next."""


def curve_lines(rows: Sequence[Row]) -> list[str]:
    """The curves with their axes, and a line a letter; nothing where there is no row."""
    shown = rows[: len(string.ascii_uppercase)]
    if not shown:
        return []
    grid = [[" "] * (_STEP * len(CURVE)) for _ in range(_HEIGHT)]
    for letter, row in reversed(list(zip(string.ascii_uppercase, shown))):
        for place, score in enumerate(row.curve):
            if score.value is not None:
                grid[round((1 - score.value) * (_HEIGHT - 1))][_STEP * place] = letter
    lines = [f"{100 - 10 * line:4d}% |{''.join(cells)}".rstrip() for line, cells in enumerate(grid)]
    axis = "".join(f"{p:<{2 * _STEP}g}" for p in CURVE[::2])
    return [
        "share of problems (k = 1) right and faster than p times the reference",
        *lines,
        f"      +{'-' * (_STEP * len(CURVE))}",
        f"   p   {axis}".rstrip(),
        *(f"{letter} {row_name(row)}" for letter, row in zip(string.ascii_uppercase, shown)),
    ]


def row_name(row: Row) -> str:
    """``openai/gpt-5, cuda, full, 2 cuda ranks, default, bfloat16: group``."""
    condition = row.condition
    name = ", ".join((condition.model, condition.backend, condition.feedback, condition.place))
    return f"{name}: {row.part}" if row.part else name
