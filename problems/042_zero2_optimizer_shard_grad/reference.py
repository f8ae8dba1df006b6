from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
import torch.nn.functional as F


def _flatten(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def _unflatten(flat: torch.Tensor, shapes: Sequence[torch.Size]) -> list[torch.Tensor]:
    pieces = torch.split(flat, [shape.numel() for shape in shapes])
    return [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]


def _gradient(parameters: Sequence[torch.Tensor], X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    with torch.enable_grad():
        W1, b1, W2, b2 = leaves = [parameter.detach().requires_grad_() for parameter in parameters]
        error = F.linear(F.relu(F.linear(X, W1, b1)), W2, b2) - y
        return _flatten(torch.autograd.grad(error.square().mean(), leaves))


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
    with torch.no_grad():
        flat = _flatten((W1, b1, W2, b2))
        if flat.numel() != part * world:
            raise ValueError(f"{world} slices of {part} elements do not make {flat.numel()} parameters")
        dist.broadcast(flat, 0)
        gradient = torch.empty_like(exp_avg_part)
        dist.reduce_scatter_tensor(gradient, _gradient(_unflatten(flat, shapes), X_local, y_local))
        gradient /= world

        first = (exp_avg_part * beta1).add_(gradient, alpha=1 - beta1)
        second = (exp_avg_sq_part * beta2).addcmul_(gradient, gradient, value=1 - beta2)
        denominator = (second / (1 - beta2**step)).sqrt_().add_(eps)
        change = (first / (1 - beta1**step)).div_(denominator).mul_(-lr)
        updated = torch.empty_like(flat)
        dist.all_gather_into_tensor(updated, flat[rank * part : (rank + 1) * part] + change)
    return (*_unflatten(updated, shapes), first, second)
