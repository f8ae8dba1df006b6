"""The norm of whole rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """This rank's columns of the normalised rows."""
    rows = torch.cat([arguments[0].double() for arguments in everybody], dim=1)
    own, weight, epsilon = everybody[rank]
    return own.double() / (rows.square().mean(1, keepdim=True) + epsilon).sqrt() * weight.double()
