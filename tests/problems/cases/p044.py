"""Each rank's gradient rounded to 127 steps of its block's largest value, block by block; then the mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

INAPPLICABLE: Mapping[str, str] = {"other_rank": "every rank's result is the same"}


def _rounded(block: torch.Tensor) -> torch.Tensor:
    step = block.abs().max().float() / torch.tensor(127.0)
    return (block.float() / step).round().double() * step.double()


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The mean over ranks. The steps are float32, as the statement has them: they decide what is rounded where."""
    vectors = [torch.cat([_rounded(block) for block in flat.split(size)]) for flat, size in everybody]
    return torch.stack(vectors).mean(0)
