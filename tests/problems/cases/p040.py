"""One step of Adam on the whole batch, from rank 0's parameters and moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.problems.training import flat, gradient, moved, shaped, whole

INAPPLICABLE: Mapping[str, str] = {"other_rank": "every rank's result is the same"}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The updated parameters and moments, the same on every rank."""
    parameters, first, second, hyper = (everybody[0][a:b] for a, b in ((2, 6), (6, 10), (10, 14), (14, 19)))
    slope = gradient(whole(everybody, 0), whole(everybody, 1), parameters)
    new_first, new_second, change = moved(flat(first), flat(second), slope, hyper)
    vectors = (flat(parameters) + change, new_first, new_second)
    return tuple(piece for vector in vectors for piece in shaped(vector, parameters))
