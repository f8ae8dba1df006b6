from __future__ import annotations

from collections.abc import Sequence

import torch


@torch.no_grad()
def alternatives(
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
) -> tuple[tuple[torch.Tensor, torch.Tensor], None, None]:
    """Bounds of the parameters where rounding decides the sign of a gradient, and with it that of the whole step."""
    gradient = _mean_gradient(X_local, y_local, flat_param_shard, param_shapes)
    doubt = 4 * torch.finfo(gradient.dtype).eps * gradient.square().mean().sqrt()
    ends = []
    for changed in (gradient - doubt, gradient, gradient + doubt):
        _, _, direction = adam(exp_avg_shard, exp_avg_sq_shard, changed, beta1, beta2, eps, step)
        ends.append(flat_param_shard - lr * direction - lr * weight_decay * flat_param_shard)
    return (torch.stack(ends).amin(0), torch.stack(ends).amax(0)), None, None
