"""One step of Adam on the whole batch, as for ZeRO-2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.problems.training import flat, gradient, moved, shaped, whole


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The updated parameters and this rank's slices of the moments."""
    parameters = everybody[0][2:6]
    slope = gradient(whole(everybody, 0), whole(everybody, 1), parameters)
    first, second, change = moved(whole(everybody, 6), whole(everybody, 7), slope, everybody[rank][8:])
    updated = shaped(flat(parameters) + change, parameters)
    return (*updated, first.chunk(len(everybody))[rank], second.chunk(len(everybody))[rank])
