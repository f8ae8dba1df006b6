"""Kimi delta attention over each context group's whole sequence, by the recurrence on lists of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

FLOPS = "the reference runs the whole sequence on every rank, a kernel its own piece"


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """This rank's piece, summed over the ranks of its tensor group."""
    world = len(everybody)
    pairs = world >= 4 and world % 2 == 0
    partners = [rank // 2 * 2, rank // 2 * 2 + 1] if pairs else [rank]
    return sum(
        _piece(everybody, partner, list(range(partner % 2, world, 2) if pairs else range(world)))
        for partner in partners
    )


def _piece(everybody: Sequence[Sequence[Any]], rank: int, members: list[int]) -> torch.Tensor:
    q, k, v, g, beta = (torch.cat([everybody[member][i][0].double() for member in members]) for i in range(5))
    a_log, dt_bias = (everybody[rank][i].double() for i in (5, 6))
    steps, heads, width = q.shape
    length = steps // len(members)
    decay = (-5 * (a_log.exp()[:, None] * (g + dt_bias.view(heads, width))).sigmoid()).exp()
    out = torch.zeros(steps, heads, v.shape[-1], dtype=torch.float64)
    for head in range(heads):
        state = torch.zeros(width, v.shape[-1], dtype=torch.float64)
        for t in range(steps):
            key, query = k[t, head] / k[t, head].norm(), q[t, head] / q[t, head].norm() / width**0.5
            state = torch.diag(decay[t, head]) @ state
            state = state + torch.outer(key, beta[t, head].sigmoid() * (v[t, head] - state.T @ key))
            out[t, head] = state.T @ query
    start = members.index(rank) * length
    return out[None, start : start + length]
