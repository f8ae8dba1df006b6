"""Problem 71: the whole sequence in its natural order, each output a sum over the elements before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

INAPPLICABLE: Mapping[str, str] = {
    "float16": "a convolution in TF32, the default of cuDNN, is right, and float16 is no further off"
}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> torch.Tensor:
    """The outputs of this rank's two chunks, with this rank's filters."""
    halves = [arguments[0].double().chunk(2, dim=-1) for arguments in everybody]
    whole = torch.cat([first for first, _ in halves] + [second for _, second in reversed(halves)], dim=-1)
    weight = everybody[rank][1].double()
    taps, length = weight.shape[-1], whole.shape[-1]
    out = torch.zeros_like(whole)
    for back in range(taps):
        out[..., back:] += weight[:, 0, taps - 1 - back, None] * whole[..., : length - back]
    chunks = out.chunk(2 * len(everybody), dim=-1)
    return torch.cat((chunks[rank], chunks[-1 - rank]), dim=-1)
