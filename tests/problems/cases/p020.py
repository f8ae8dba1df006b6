"""Values times scales, then each chunk to its rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The chunks for this rank, by source."""
    chunks = []
    for values, scales, block_size in everybody:
        factors = scales[rank].double().repeat_interleave(block_size)
        chunks.append(values[rank].double() * factors.view_as(values[rank]))
    return torch.stack(chunks)
