"""Every rank's shard on its own grid of fp8 numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

INAPPLICABLE: Mapping[str, str] = {
    "float32_accumulation": "nothing is summed, and a history that is not bfloat16 would give other steps",
}


def on_grid(x: torch.Tensor, history: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The nearest multiples of the fp8 steps, whose scale the history gives; and the history after x."""
    history = torch.tensor([*history[1:].tolist(), x.abs().max().item()], dtype=history.dtype)
    scale = history.max().float() / torch.tensor(448.0)
    quotient = (x.float() / scale).double()
    # Four significant bits, and steps of 2^-9 below 2^-6.
    step = 2.0 ** (quotient.abs().clamp(min=2.0**-6).log2().floor() - 3)
    return (quotient / step).round() * step * scale.double(), history


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """All shards, and this rank's history."""
    found = [on_grid(*arguments) for arguments in everybody]
    return torch.cat([values for values, _ in found]), found[rank][1]
