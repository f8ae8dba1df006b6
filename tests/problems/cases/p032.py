"""A mixture of one MLP a rank, its layers merged with their low-rank branches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F

from tests.problems.mixture import Rows, mixture


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The output of this rank's tokens."""
    experts = [_mlp(arguments) for arguments in everybody]
    width = 8 // len(everybody)
    return mixture(everybody[rank], 2, lambda expert: expert // width, experts)


def _mlp(arguments: Sequence[Any]) -> Rows:
    factors = [factor.double() for factor in arguments[6:12]]
    gate, up, down = (
        _merged(layer, *pair) for layer, pair in zip(arguments[3:6], zip(factors[::2], factors[1::2]), strict=True)
    )
    return lambda rows: down(F.silu(gate(rows)) * up(rows))


def _merged(layer: torch.nn.Linear, A: torch.Tensor, B: torch.Tensor) -> Rows:
    weight, bias = (parameter.detach().double() for parameter in layer.parameters())
    return lambda rows: rows @ (weight + B @ A).T + bias
