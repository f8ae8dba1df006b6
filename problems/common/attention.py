"""Attention by blocks of keys in float32: partial results with their log-sum-exp, their merge, and a ring of blocks."""

from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.rings import ring

Partial = tuple[torch.Tensor, torch.Tensor]
"""The output (B, H, S, Dh) of some of the keys and the log-sum-exp (B, H, S, 1) of their scores."""


def block_scores(q: torch.Tensor, k: torch.Tensor, masked: bool) -> torch.Tensor:
    """Scores (B, H, S, S) of scaled queries against keys; with the mask, query i sees key j only where j <= i."""
    scores = q @ k.mT
    if not masked:
        return scores
    future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    return scores.masked_fill(future, float("-inf"))


def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, masked: bool = False) -> Partial:
    """Softmax attention of scaled queries over one block of keys."""
    scores = block_scores(q, k, masked)
    total = scores.logsumexp(dim=-1, keepdim=True)
    return torch.exp(scores - total) @ v, total


def merge(one: Partial | None, other: Partial) -> Partial:
    """Attention over the keys of both partial results; None stands for no keys."""
    if one is None:
        return other
    merged = torch.logaddexp(one[1], other[1])
    return one[0] * torch.exp(one[1] - merged) + other[0] * torch.exp(other[1] - merged), merged


def ring_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    softmax_scale: float | None,
    causal: bool,
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """Attention of this rank's queries (B, S, H, Dh) over all ranks' keys (those before them, where causal).

    Keys and values travel round the ring; the scale is 1/sqrt(Dh) where it is None.
    """
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    queries = q.transpose(1, 2).float() * scale  # (B, H, S, Dh)
    partial: Partial | None = None
    for step, held in enumerate(ring(torch.stack((k, v)), group)):
        if not causal or step <= dist.get_rank(group):
            keys, values = held.transpose(2, 3).float()
            partial = merge(partial, attend(queries, keys, values, causal and step == 0))
    assert partial is not None
    return partial[0].transpose(1, 2).to(q.dtype).contiguous()
