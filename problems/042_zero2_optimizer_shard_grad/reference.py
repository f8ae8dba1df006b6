from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.training import adam, flatten, mlp_gradient, unflatten


@torch.no_grad()
def solution(
    X_local: torch.Tensor,
    y_local: torch.Tensor,
    W1: torch.Tensor,
    b1: torch.Tensor,
    W2: torch.Tensor,
    b2: torch.Tensor,
    exp_avg_part: torch.Tensor,
    exp_avg_sq_part: torch.Tensor,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    step: int,
) -> tuple[torch.Tensor, ...]:
    """The updated parameters W1, b1, W2, b2 and this rank's slices of the two Adam moments."""
    shapes = [tensor.shape for tensor in (W1, b1, W2, b2)]
    rank, world, part = dist.get_rank(), dist.get_world_size(), exp_avg_part.numel()
    flat = flatten((W1, b1, W2, b2))
    if flat.numel() != part * world:
        raise ValueError(f"{world} slices of {part} elements do not make {flat.numel()} parameters")
    dist.broadcast(flat, 0)
    gradient = torch.empty_like(exp_avg_part)
    dist.reduce_scatter_tensor(gradient, mlp_gradient(unflatten(flat, shapes), X_local, y_local))
    gradient /= world

    first, second, direction = adam(exp_avg_part, exp_avg_sq_part, gradient, beta1, beta2, eps, step)
    updated = torch.empty_like(flat)
    dist.all_gather_into_tensor(updated, flat[rank * part : (rank + 1) * part] + direction * -lr)
    return (*unflatten(updated, shapes), first, second)
