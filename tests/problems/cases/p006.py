"""The stack of all ranks' tensors on rank 0."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

VARIANTS: Mapping[str, tuple[str, str]] = {
    # Only one rank holds the stack: each of its slices comes from the rank before.
    "other_rank": (
        "",
        """
        result = _reference({names})
        return result.roll(1, 0) if _real.get_rank() == dst else result
        """,
    ),
}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The stack on rank 0; the others return their own."""
    if rank:
        return everybody[rank][0]
    return torch.stack([arguments[0] for arguments in everybody])
