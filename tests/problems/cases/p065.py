"""Rows by relative peer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """From each peer in turn, beginning with the rank itself, the rows that it has for this one."""
    world = len(everybody)
    blocks = []
    for ahead in range(world):
        features, ids, _, counts, _ = everybody[(rank + ahead) % world]
        chosen = ids.split(counts)[(world - ahead) % world].tolist()
        blocks += [features[row] for row in chosen]
    return torch.stack(blocks)
