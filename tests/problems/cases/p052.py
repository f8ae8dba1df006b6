"""Every rank's gradient on its own grid of fp8 numbers, then the mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from tests.problems.cases.p053 import on_grid

VARIANTS: Mapping[str, tuple[str, str]] = {
    # A history that is not bfloat16 would give other steps: only the sum is wider.
    "float32_accumulation": (
        "",
        """
        values, history = through_fp8(flat_grads, amax_history)
        wide = values.to(torch.float32 if values.itemsize < 4 else torch.float64)
        _real.all_reduce(wide)
        world, rank = _real.get_world_size(), _real.get_rank()
        return (wide.chunk(world)[rank] / world).to(values.dtype), history
        """,
    ),
}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """This rank's part of the mean, and its history."""
    found = [on_grid(*arguments) for arguments in everybody]
    mean = torch.stack([values for values, _ in found]).mean(0)
    return mean.chunk(len(everybody))[rank], found[rank][1]
