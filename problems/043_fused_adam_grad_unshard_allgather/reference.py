from __future__ import annotations

import torch

from problems.common.gathers import all_gather_along
from problems.common.training import adam


@torch.no_grad()
def solution(
    grad_shard: torch.Tensor,
    master_shard: torch.Tensor,
    exp_avg: torch.Tensor,
    exp_avg_sq: torch.Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    step: int,
) -> torch.Tensor:
    """All ranks' weights after one Adam step, in rank order."""
    _, _, direction = adam(exp_avg, exp_avg_sq, grad_shard, beta1, beta2, eps, step)
    return all_gather_along(master_shard + direction * -lr, 0)
