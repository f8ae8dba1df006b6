from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F


def _weight_bounds(
    q: torch.Tensor, k: torch.Tensor, masked: bool, precision: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The least and the largest weight of each head, when every score may be off by its rounding."""
    scale = q.shape[-1] ** -0.5
    scores = q @ k.mT * scale
    sizes = q.norm(dim=-1, keepdim=True) * k.norm(dim=-1, keepdim=True).mT / q.shape[-1]
    off = precision * (scores.abs() + sizes)
    if masked:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), float("-inf"))
    low, high = scores - off, scores + off
    peak = high.amax(dim=-1, keepdim=True)
    least, most = (low - peak).exp(), (high - peak).exp()
    others_most, others_least = (part.sum(-1, keepdim=True) - part for part in (most, least))
    return least / (least + others_most), most / (most + others_least)


def alternatives(
    hidden_states: torch.Tensor,
    w_qkv: torch.Tensor,
    w_o: torch.Tensor,
    group: dist.ProcessGroup | None = None,
    num_heads: int = 8,
    causal: bool = False,
) -> tuple[tuple[torch.Tensor, torch.Tensor]]:
    """Bounds of the result: five standard deviations of what roundings of the scores make of the heads' weights."""
    groups = dist.get_world_size(group)
    # (B, S, 3, P, n, D): heads attend within each of the P groups
    qkv = F.linear(hidden_states, w_qkv).double().unflatten(-1, (3, groups, num_heads // groups, -1))
    q, k, v = qkv.flatten(0, 1).unbind(1)
    precision = torch.finfo(w_o.dtype).eps
    # Wide dtypes round the long sums of the projection, narrow ones only their result.
    precision *= 1 if w_o.itemsize == 2 else 16
    low, high = _weight_bounds(q, k, causal and groups * hidden_states.shape[1] > 1, precision)
    spread = ((high - low) / 2) @ v.abs()
    middle = ((high + low) / 2) @ v
    shape = (*hidden_states.shape[:2], -1)
    out = middle.reshape(shape) @ w_o.double().mT
    room = 5 * (spread.square().reshape(shape) @ w_o.double().square().mT).sqrt()
    return ((out - room, out + room),)
