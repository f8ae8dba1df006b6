"""One step of Adam on every rank's shard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.problems.training import moved, whole

INAPPLICABLE: Mapping[str, str] = {"other_rank": "every rank's result is the same"}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """All weights after the step."""
    slope, weights, first, second = (whole(everybody, place) for place in range(4))
    return weights + moved(first, second, slope, everybody[rank][4:])[2]
