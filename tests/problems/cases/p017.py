"""Rotary embedding of the whole sequence, pair by pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

INAPPLICABLE: Mapping[str, str] = {"other_rank": "every rank's result is the same"}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The embedded q and k."""
    q, k, cos, sin = (torch.cat([arguments[i].double() for arguments in everybody], dim=1) for i in range(4))
    return _embedded(q, cos, sin), _embedded(k, cos, sin)


def _embedded(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    out, half = torch.empty_like(x), x.shape[-1] // 2
    for i in range(half):
        first, second = x[..., i], x[..., i + half]
        out[..., i] = first * cos[:, :, None, i] - second * sin[:, :, None, i]
        out[..., i + half] = second * cos[:, :, None, i + half] + first * sin[:, :, None, i + half]
    return out
