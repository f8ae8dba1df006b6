from __future__ import annotations

import torch

from problems.common.gathers import all_gather_along


def _half_turned(x: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def solution(
    q_local: torch.Tensor, k_local: torch.Tensor, cos_local: torch.Tensor, sin_local: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The embedded q and k of the whole sequence, (B, P * S_local, heads, head_dim) each."""
    cos, sin = cos_local.unsqueeze(2), sin_local.unsqueeze(2)  # (B, S_local, 1, head_dim)
    q = q_local * cos + _half_turned(q_local) * sin
    k = k_local * cos + _half_turned(k_local) * sin
    return all_gather_along(q, dim=1), all_gather_along(k, dim=1)
