"""Problem 80: the alternating normalisation of one matrix with all ranks' samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> torch.Tensor:
    """The rank's rows, each prototype's column and each sample's row brought to sum 1 in turn."""
    _, temperature, _, iterations, _ = everybody[rank]
    Q = torch.cat([arguments[0].double() for arguments in everybody]).div(temperature).exp()
    for _ in range(iterations):
        Q = Q / Q.sum(dim=0, keepdim=True)
        Q = Q / Q.sum(dim=1, keepdim=True)
    return Q.chunk(len(everybody))[rank]
