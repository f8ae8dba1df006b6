from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist

from problems.common.gathers import all_gather_along
from problems.common.training import adam, mlp_gradient, unflatten


def _mean_gradient(
    X: torch.Tensor, y: torch.Tensor, shard: torch.Tensor, param_shapes: Sequence[Sequence[int]]
) -> torch.Tensor:
    """This rank's slice of the gradient, averaged over ranks, at the parameters that all shards make."""
    parameters = unflatten(all_gather_along(shard, 0), [torch.Size(shape) for shape in param_shapes])
    gradient = torch.empty_like(shard)
    dist.reduce_scatter_tensor(gradient, mlp_gradient(parameters, X, y))
    return gradient.div_(dist.get_world_size())


@torch.no_grad()
def solution(
    X_local: torch.Tensor,
    y_local: torch.Tensor,
    flat_param_shard: torch.Tensor,
    param_shapes: Sequence[Sequence[int]],
    exp_avg_shard: torch.Tensor,
    exp_avg_sq_shard: torch.Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float,
    step: int,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The new parameter shard and both new moment shards."""
    gradient = _mean_gradient(X_local, y_local, flat_param_shard, param_shapes)
    first, second, direction = adam(exp_avg_shard, exp_avg_sq_shard, gradient, beta1, beta2, eps, step)
    theta = flat_param_shard.add(direction, alpha=-lr).sub_(flat_param_shard, alpha=lr * weight_decay)
    return theta, first, second
