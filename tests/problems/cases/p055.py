"""Problem 55: one attention layer over the whole sequence with the heads of both weight halves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

INAPPLICABLE = {"other_rank": "the two ranks of a tensor-parallel pair have the same result"}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> torch.Tensor:
    """This rank's positions of the layer's output."""
    tp = min(2, len(everybody))
    hidden = torch.cat([arguments[0].double() for arguments in everybody[::tp]], dim=1)
    halves = [_half(hidden, everybody[half][1:3], everybody[half][3] // tp) for half in range(tp)]
    return torch.stack(halves).sum(0).chunk(len(everybody) // tp, dim=1)[rank // tp]


def _half(hidden: torch.Tensor, weights: Sequence[torch.Tensor], heads: int) -> torch.Tensor:
    w_qkv, w_o = weights
    q, k, v = (part.unflatten(2, (heads, -1)).transpose(1, 2) for part in (hidden @ w_qkv.double().T).chunk(3, dim=2))
    attention = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return attention.transpose(1, 2).flatten(2) @ w_o.double().T
