"""Problem 37: all heads, cut by positions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> torch.Tensor:
    """The heads of all ranks at this rank's positions; zeros where the sequence has ended."""
    whole = torch.cat([arguments[0] for arguments in everybody], dim=2)
    batch, length, heads, width = whole.shape
    positions = (length + len(everybody) - 1) // len(everybody)
    out = whole.new_zeros(batch, positions, heads, width)
    own = whole[:, rank * positions : (rank + 1) * positions]
    out[:, : own.shape[1]] = own
    return out
