"""Places of positives by counting, over all ranks' rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

INAPPLICABLE: Mapping[str, str] = {"other_rank": "every rank's result is the same"}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """1 + the number of negatives above each positive; a tie counts for the positive."""
    places = []
    for positives, negatives, _ in everybody:
        for score, others in zip(positives.tolist(), negatives.tolist(), strict=True):
            places.append(1 + sum(other > score for other in others))
    return torch.tensor(places)
