"""A training step on the whole batch in one process, in float64: what the problems of data parallelism ask for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

Hyper = Sequence[float]


def whole(everybody: Sequence[Sequence[Any]], place: int) -> torch.Tensor:
    """One argument of all ranks, one below the other."""
    return torch.cat([arguments[place].double() for arguments in everybody])


def flat(tensors: Sequence[torch.Tensor]) -> torch.Tensor:
    """All elements, one after the other."""
    return torch.cat([tensor.detach().double().flatten() for tensor in tensors])


def shaped(vector: torch.Tensor, like: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """A vector cut into pieces of these forms."""
    pieces = torch.split(vector, [item.numel() for item in like])
    return [piece.view(item.shape) for piece, item in zip(pieces, like, strict=True)]


def gradient(batch: torch.Tensor, wanted: torch.Tensor, parameters: Sequence[torch.Tensor]) -> torch.Tensor:
    """The flat gradient of the mean squared error of a two-layer MLP."""
    W1, b1, W2, b2 = leaves = [value.double().requires_grad_() for value in parameters]
    loss = F.mse_loss(F.linear(F.linear(batch, W1, b1).relu(), W2, b2), wanted)
    return flat(torch.autograd.grad(loss, leaves))


def moved(first: torch.Tensor, second: torch.Tensor, slope: torch.Tensor, hyper: Hyper) -> tuple[torch.Tensor, ...]:
    """The new moments and the change of the weights; hyper is lr, beta1, beta2, eps and the step's number."""
    lr, beta1, beta2, eps, step = hyper
    first = beta1 * first + (1 - beta1) * slope
    second = beta2 * second + (1 - beta2) * slope**2
    return first, second, -lr * (first / (1 - beta1**step)) / ((second / (1 - beta2**step)).sqrt() + eps)
