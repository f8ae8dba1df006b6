from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F

from problems.common.heads import redistribute


def _exchange(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, group: dist.ProcessGroup | None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """From (B, S, H, D) of this rank's positions to (B, S*P, n, D) of this rank's heads."""
    interleaved = torch.stack((k, v), dim=3).flatten(2, 3)  # heads k0, v0, k1, v1, ...
    q = redistribute(q, 2, 1, group)
    k, v = redistribute(interleaved, 2, 1, group).unflatten(2, (-1, 2)).unbind(3)
    return q, k, v


def _mix_heads(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> torch.Tensor:
    """Attention of the heads (.., n, D) of one position to each other."""
    scores: torch.Tensor = q @ k.mT * q.shape[-1] ** -0.5  # (B, positions, n, n)
    if causal and q.shape[1] > 1:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    return scores.softmax(dim=-1) @ v


def _project(hidden_states: torch.Tensor, w_qkv: torch.Tensor, num_heads: int) -> tuple[torch.Tensor, ...]:
    """Queries, keys and values, (B, S, H, D) each."""
    packed: torch.Tensor = F.linear(hidden_states, w_qkv).unflatten(-1, (3, num_heads, -1))
    return packed.unbind(2)


def solution(
    hidden_states: torch.Tensor,
    w_qkv: torch.Tensor,
    w_o: torch.Tensor,
    group: dist.ProcessGroup | None = None,
    num_heads: int = 8,
    causal: bool = False,
) -> torch.Tensor:
    """The attention block of this rank's positions; heads attend to the heads of their group at the same position."""
    q, k, v = _project(hidden_states, w_qkv, num_heads)
    if dist.get_world_size(group) == 1:
        mixed = _mix_heads(q, k, v, causal)
    else:
        mixed = redistribute(_mix_heads(*_exchange(q, k, v, group), causal), 1, 2, group)
    return F.linear(mixed.flatten(2), w_o)
