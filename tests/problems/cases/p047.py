"""One step of Adam with weight decay on the whole batch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from tests.problems.training import gradient, moved, whole


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """This rank's shards of the parameters and of the moments."""
    shapes, (*adam, decay, step) = everybody[rank][3], everybody[rank][6:]
    weights = whole(everybody, 2)
    pieces = torch.split(weights, [math.prod(shape) for shape in shapes])
    parameters = [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]
    slope = gradient(whole(everybody, 0), whole(everybody, 1), parameters)
    first, second, change = moved(whole(everybody, 4), whole(everybody, 5), slope, (*adam, step))
    theta = weights * (1 - adam[0] * decay) + change
    return tuple(vector.chunk(len(everybody))[rank] for vector in (theta, first, second))
