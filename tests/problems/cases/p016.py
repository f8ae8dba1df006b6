"""A block of rows of one product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """This rank's rows of the product over the whole K."""
    A = torch.cat([arguments[0].double() for arguments in everybody], dim=1)
    B = torch.cat([arguments[1].double() for arguments in everybody])
    return (A @ B).chunk(len(everybody))[rank]
