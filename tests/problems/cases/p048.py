"""The gated MLP with the whole weight matrices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F


def _matrix(everybody: Sequence[Sequence[Any]], place: int, n_tp: int, n_fsdp: int, turned: bool) -> torch.Tensor:
    """The blocks of all ranks in their places: f counts rows of blocks and t columns, or the other way round."""
    blocks = [[everybody[f * n_tp + t][place].double() for t in range(n_tp)] for f in range(n_fsdp)]
    if turned:
        blocks = [list(column) for column in zip(*blocks, strict=True)]
    return torch.cat([torch.cat(row, dim=1) for row in blocks])


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The outputs of this rank's rows."""
    n_tp, n_fsdp = everybody[rank][4:]
    W1, W2, W3 = (_matrix(everybody, place, n_tp, n_fsdp, place == 3) for place in (1, 2, 3))
    x = everybody[rank][0].double()
    return (F.silu(x @ W1) * (x @ W2)) @ W3
