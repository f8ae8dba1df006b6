from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist

from problems.common.training import adam, flatten, mlp_gradient, unflatten


def _from_rank_0(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """Rank 0's tensors as one flat vector."""
    flat = flatten(tensors)
    dist.broadcast(flat, 0)
    return flat


@torch.no_grad()
def solution(
    X_local: torch.Tensor,
    y_local: torch.Tensor,
    W1: torch.Tensor,
    b1: torch.Tensor,
    W2: torch.Tensor,
    b2: torch.Tensor,
    exp_avg_W1: torch.Tensor,
    exp_avg_b1: torch.Tensor,
    exp_avg_W2: torch.Tensor,
    exp_avg_b2: torch.Tensor,
    exp_avg_sq_W1: torch.Tensor,
    exp_avg_sq_b1: torch.Tensor,
    exp_avg_sq_W2: torch.Tensor,
    exp_avg_sq_b2: torch.Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    step: int,
) -> tuple[torch.Tensor, ...]:
    """The updated W1, b1, W2, b2, then their first moments, then their second moments."""
    shapes = [tensor.shape for tensor in (W1, b1, W2, b2)]
    flat = _from_rank_0((W1, b1, W2, b2))
    first = _from_rank_0((exp_avg_W1, exp_avg_b1, exp_avg_W2, exp_avg_b2))
    second = _from_rank_0((exp_avg_sq_W1, exp_avg_sq_b1, exp_avg_sq_W2, exp_avg_sq_b2))

    gradient = mlp_gradient(unflatten(flat, shapes), X_local, y_local)
    dist.all_reduce(gradient)
    gradient /= dist.get_world_size()

    first, second, direction = adam(first, second, gradient, beta1, beta2, eps, step)
    flat += direction * -lr
    return tuple(piece for vector in (flat, first, second) for piece in unflatten(vector, shapes))
