"""One sort of everybody's values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The rank's part of the ascending order; torch.tensor_split gives the first parts one more."""
    return torch.cat([arguments[0] for arguments in everybody]).sort().values.tensor_split(len(everybody))[rank]
