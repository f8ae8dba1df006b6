"""Causal attention over the whole sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

VARIANTS: Mapping[str, tuple[str, str]] = {
    # The ring has no sum to reorder: all keys in one softmax instead.
    "other_order": (
        "",
        """
        world, rank = _real.get_world_size(group), _real.get_rank(group)
        both = torch.stack((k, v)).contiguous()
        every = [torch.empty_like(both) for _ in range(world)]
        _real.all_gather(every, both, group=group)
        keys, values = torch.cat(every, dim=2).transpose(2, 3).float()
        scores = q.transpose(1, 2).float() @ keys.mT * (softmax_scale or q.shape[-1] ** -0.5)
        here = torch.arange(q.shape[1]).unsqueeze(1) + rank * q.shape[1]
        if causal:
            scores = scores.masked_fill(torch.arange(keys.shape[2]) > here, float("-inf"))
        return (scores.softmax(dim=-1) @ values).transpose(1, 2).to(q.dtype).contiguous()
        """,
    ),
    # With the causal mask only later ranks see a rank's keys, so the first rank is the one to leave out.
    "skip_a_rank": (
        "",
        """
        if _real.get_rank(group) == 0:
            k, v = torch.zeros_like(k), torch.zeros_like(v)
        return _reference({names})
        """,
    ),
}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """This rank's rows of the result."""
    q, k, v = (torch.cat([a[i].double() for a in everybody], dim=1).transpose(1, 2) for i in range(3))
    out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    return out.transpose(1, 2).chunk(len(everybody), dim=1)[rank]
