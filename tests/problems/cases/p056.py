"""Problem 56: two attention layers over the whole sequence, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

VARIANTS: Mapping[str, tuple[str, str]] = {
    # Rank 1 may be of the last stage, which sends nothing on: the first rank leaves its result out.
    "skip_a_rank": (
        """
class _WithoutRank0(_Collectives):
    P2POp = _real.P2POp

    def send(self, tensor, dst=None, group=None, tag=0):
        _real.send(torch.zeros_like(tensor) if _real.get_rank() == 0 else tensor, dst, group=group, tag=tag)


dist = _WithoutRank0()
""",
        "return _reference({names})",
    )
}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> torch.Tensor:
    """This rank's positions of its own stage's output."""
    stages = min(2, len(everybody))
    pieces = len(everybody) // stages
    x = torch.cat([arguments[0].double() for arguments in everybody[:pieces]], dim=1)
    for stage in range(rank // pieces + 1):
        x = _layer(x, *everybody[stage * pieces][1:4])
    return x.chunk(pieces, dim=1)[rank % pieces]


def _layer(x: torch.Tensor, w_qkv: torch.Tensor, w_o: torch.Tensor, heads: int) -> torch.Tensor:
    q, k, v = (part.unflatten(2, (heads, -1)).transpose(1, 2) for part in (x @ w_qkv.double().T).chunk(3, dim=2))
    attention = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return attention.transpose(1, 2).flatten(2) @ w_o.double().T
