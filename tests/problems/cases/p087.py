"""Problem 87: each rank's filter on the whole image, as a sum over the nine places of the filter."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

INAPPLICABLE: Mapping[str, str] = {
    "float16": "a convolution in TF32, the default of cuDNN, is right, and float16 is no further off"
}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> torch.Tensor:
    """The rank's strip of the whole image, filtered with the rank's own weights."""
    x, weight, bias = (value.double() for value in everybody[rank][:3])
    height, width = x.shape[2:]
    image = F.pad(torch.cat([arguments[0].double() for arguments in everybody], dim=2), (1, 1, 1, 1))
    strip = image[:, :, rank * height : (rank + 1) * height + 2]
    total: torch.Tensor = bias.view(1, -1, 1, 1).expand(1, -1, height, width)
    for i, j in itertools.product(range(3), repeat=2):
        total = total + torch.einsum("bchw,oc->bohw", strip[:, :, i : i + height, j : j + width], weight[:, :, i, j])
    return total
