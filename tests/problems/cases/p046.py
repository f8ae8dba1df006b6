"""One linear layer with all rows of the vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
import torch.nn.functional as F

INAPPLICABLE: Mapping[str, str] = {"other_rank": "every rank's result is the same"}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The logits of the whole vocabulary."""
    weight, bias = (torch.cat([arguments[place].double() for arguments in everybody]) for place in (1, 2))
    return F.linear(everybody[rank][0].double(), weight, bias)
