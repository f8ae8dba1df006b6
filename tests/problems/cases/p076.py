"""Problem 76: one convolution over all channels, as a sum over the 27 places of the filter."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch

INAPPLICABLE: Mapping[str, str] = {
    "other_rank": "every rank's result is the same",
    "float16": "a convolution in TF32, the default of cuDNN, is right, and float16 is no further off",
}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> torch.Tensor:
    """The sum over channels and filter places, plus the bias."""
    volume = torch.cat([arguments[0].double() for arguments in everybody], dim=1)
    weight = torch.cat([arguments[1].double() for arguments in everybody], dim=1)
    T, H, W = (size - 2 for size in volume.shape[2:])
    total: torch.Tensor = everybody[rank][2].double().view(1, -1, 1, 1, 1).expand(1, -1, T, H, W)
    for t, h, w in itertools.product(range(3), repeat=3):
        window = volume[:, :, t : t + T, h : h + H, w : w + W]
        total = total + torch.einsum("bcthw,oc->bothw", window, weight[:, :, t, h, w])
    return total
