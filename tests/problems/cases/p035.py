"""Problem 35: all ranks' rows, as many as each has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

INAPPLICABLE = {"other_rank": "every rank's result is the same"}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> torch.Tensor:
    """All tensors below each other, the same on every rank."""
    return torch.cat([arguments[0] for arguments in everybody])
