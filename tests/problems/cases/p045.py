"""The mean over ranks, row by row over its root mean square."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """This rank's rows."""
    _, gamma, eps = everybody[rank]
    mean = torch.stack([arguments[0].double() for arguments in everybody]).mean(0)
    rows = mean.chunk(len(everybody))[rank].view(-1, len(gamma))
    return rows / (rows.square().mean(1, keepdim=True) + eps).sqrt() * gamma.double()
