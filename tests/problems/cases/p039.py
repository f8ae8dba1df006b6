"""Problem 39: the heads of one position attend to the others of their group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> torch.Tensor:
    """Each position and each group of heads on its own, on this rank's own arguments."""
    hidden, w_qkv, w_o = (argument.double() for argument in everybody[rank][:3])
    heads, width = everybody[rank][4], w_qkv.shape[0] // 3 // everybody[rank][4]
    share = heads // len(everybody)
    mixed = torch.zeros(*hidden.shape[:2], heads * width, dtype=torch.float64)
    for first in range(0, heads, share):
        q, k, v = (_heads(hidden, w_qkv, part * heads + first, share, width) for part in range(3))
        weights = torch.softmax(torch.einsum("bshd,bsgd->bshg", q, k) / width**0.5, dim=-1)
        both = torch.einsum("bshg,bsgd->bshd", weights, v)
        mixed[..., first * width : (first + share) * width] = both.flatten(2)
    out: torch.Tensor = mixed @ w_o.T
    return out


def _heads(hidden: torch.Tensor, w_qkv: torch.Tensor, first: int, count: int, width: int) -> torch.Tensor:
    rows = w_qkv[first * width : (first + count) * width]
    return (hidden @ rows.T).view(*hidden.shape[:2], count, width)
