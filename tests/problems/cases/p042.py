"""One step of Adam on the whole batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The updated parameters and this rank's slices of the moments."""
    batch, wanted = (torch.cat([arguments[i].double() for arguments in everybody]) for i in (0, 1))
    parameters = [value.double().requires_grad_() for value in everybody[0][2:6]]
    W1, b1, W2, b2 = parameters
    loss = F.mse_loss(F.linear(F.linear(batch, W1, b1).relu(), W2, b2), wanted)
    gradient, weights = (
        torch.cat([item.detach().flatten() for item in items])
        for items in (torch.autograd.grad(loss, parameters), parameters)
    )
    first, second = (torch.cat([arguments[i].double() for arguments in everybody]) for i in (6, 7))
    lr, beta1, beta2, eps, step = everybody[rank][8:]
    first = beta1 * first + (1 - beta1) * gradient
    second = beta2 * second + (1 - beta2) * gradient**2
    weights = weights - lr * (first / (1 - beta1**step)) / ((second / (1 - beta2**step)).sqrt() + eps)
    pieces = torch.split(weights, [item.numel() for item in parameters])
    shaped = [piece.view(item.shape) for piece, item in zip(pieces, parameters, strict=True)]
    return (*shaped, first.chunk(len(everybody))[rank], second.chunk(len(everybody))[rank])
