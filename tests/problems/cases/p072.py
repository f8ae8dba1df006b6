"""Problem 72: the whole sequence in its natural order, the convolution as a product with a circulant matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> torch.Tensor:
    """This rank's two chunks of the gated convolution of all channels."""
    x1, x2, v = (_natural([arguments[i] for arguments in everybody]) for i in range(3))
    z = (x2 * v).double()
    h, bias = (argument.double() for argument in everybody[rank][3:5])
    y = _circular(z, h) + z * bias[:, None]
    chunks = (x1.double() * y).chunk(2 * len(everybody), dim=-1)
    return torch.cat((chunks[rank], chunks[-1 - rank]), dim=-1).transpose(1, 2)


def _natural(parts: Sequence[torch.Tensor]) -> torch.Tensor:
    halves = [part.chunk(2, dim=-1) for part in parts]
    return torch.cat([first for first, _ in halves] + [second for _, second in reversed(halves)], dim=-1)


def _circular(z: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    """The first half of the circular convolution of twice the length, which taps behind the half wrap round in."""
    length = z.shape[-1]
    filters = torch.zeros(h.shape[0], 2 * length, dtype=torch.float64)
    taps = min(h.shape[1], 2 * length)
    filters[:, :taps] = h[:, :taps]
    places = torch.arange(length)
    matrix = filters[:, (places[:, None] - places) % (2 * length)]
    return torch.einsum("cts,bcs->bct", matrix, z)
