"""Gradients by relative peer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The sum of the gradients that all ranks have for each seed of this one."""
    world = len(everybody)
    gradient, ids, seeds, _, counts, _ = everybody[rank]
    total = torch.zeros(seeds, gradient.shape[1], dtype=torch.float64)
    for ahead, places in enumerate(ids.split(counts)):
        sender = everybody[(rank + ahead) % world]
        rows = sender[0].double().split(sender[3])[(world - ahead) % world]
        for seed, row in zip(places.tolist(), rows, strict=True):
            total[seed] += row
    return total
