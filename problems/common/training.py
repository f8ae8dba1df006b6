"""A data-parallel training step: flat parameters, the gradient of a two-layer MLP, the Adam update."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F


def flatten(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """All elements of the tensors, one after the other, in a new vector."""
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def unflatten(flat: torch.Tensor, shapes: Sequence[torch.Size]) -> list[torch.Tensor]:
    """A vector cut into tensors of these shapes: views of it. Raises RuntimeError if they do not fill it."""
    pieces = torch.split(flat, [shape.numel() for shape in shapes])
    return [piece.view(shape) for piece, shape in zip(pieces, shapes, strict=True)]


def mlp_gradient(parameters: Sequence[torch.Tensor], X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """The flat gradient of mean((relu(X W1^T + b1) W2^T + b2 - y)^2) in W1, b1, W2, b2."""
    with torch.enable_grad():
        W1, b1, W2, b2 = leaves = [parameter.detach().requires_grad_() for parameter in parameters]
        error = F.linear(F.relu(F.linear(X, W1, b1)), W2, b2) - y
        return flatten(torch.autograd.grad(error.square().mean(), leaves))


def adam(
    first: torch.Tensor,
    second: torch.Tensor,
    gradient: torch.Tensor,
    beta1: float,
    beta2: float,
    eps: float,
    step: int,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The new first and second moments, and the direction (m / bc1) / (sqrt(v / bc2) + eps); step counts from 1."""
    first = (first * beta1).add_(gradient, alpha=1 - beta1)
    second = (second * beta2).addcmul_(gradient, gradient, value=1 - beta2)
    denominator = (second / (1 - beta2**step)).sqrt_().add_(eps)
    return first, second, (first / (1 - beta1**step)).div_(denominator)
