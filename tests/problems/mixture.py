"""Mixture-of-experts layers token by token, in float64: what the problems of expert parallelism ask for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

Rows = Callable[[torch.Tensor], torch.Tensor]


def linear(layer: torch.nn.Linear, rows: torch.Tensor) -> torch.Tensor:
    """A linear layer in float64."""
    return rows @ layer.weight.detach().double().T + layer.bias.detach().double()


def swiglu(gate: torch.nn.Linear, up: torch.nn.Linear, down: torch.nn.Linear) -> Rows:
    """The plain MLP of one rank."""
    return lambda rows: linear(down, F.silu(linear(gate, rows)) * linear(up, rows))


def mixture(arguments: Sequence[Any], top_k: int, owner_of: Callable[[int], int], experts: Sequence[Rows]) -> Any:
    """The output of one rank's tokens; expert e is the function of rank ``owner_of(e)``."""
    hidden, weight, bias = (value.double() for value in arguments[:3])
    shares = (hidden @ weight.T + bias).softmax(dim=1)
    out = torch.zeros_like(hidden)
    for token, share in enumerate(shares):
        for expert in share.argsort(descending=True)[:top_k].tolist():
            out[token] += share[expert] * experts[owner_of(expert)](hidden[token : token + 1])[0]
    return out
