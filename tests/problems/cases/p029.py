"""Combine: each row is followed to its token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The weighted sum of each token's rows."""
    returned = torch.cat([_rows_for(rank, arguments, len(everybody)) for arguments in everybody])
    _, weights, chosen, experts, _, _, _, routing, *_ = everybody[rank]
    out = torch.zeros(weights.shape[0], returned.shape[1], dtype=torch.float64)
    place = 0
    for expert in range(experts):
        for token in routing[expert].nonzero().flatten().tolist():
            weight = weights[token][chosen[token] == expert].double().sum()
            out[token] += weight * returned[place]
            place += 1
    return out


def _rows_for(rank: int, arguments: Sequence[Any], world: int) -> torch.Tensor:
    """The rows that a rank sends to ``rank``."""
    rows: torch.Tensor = arguments[0].double()
    counts, sent = arguments[6].tolist(), arguments[5]
    width = len(counts[0])
    labels = [source for local in range(width) for source in range(world) for _ in range(counts[source][local])]
    ordered = rows[sorted(range(len(labels)), key=lambda place: labels[place])]
    start = sum(sent[:rank])
    return ordered[start : start + sent[rank]]
