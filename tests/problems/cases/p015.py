"""The two-layer MLP on one block of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

FLOPS = "the reference multiplies all rows by W1 and uses its own; the formula counts those"


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """This rank's rows through this rank's weights."""
    x = torch.cat([arguments[0].double() for arguments in everybody], dim=1)
    _, W1, W2 = (argument.double() for argument in everybody[rank])
    hidden = x.chunk(len(everybody))[rank] @ W1
    return hidden * torch.sigmoid(hidden) @ W2
