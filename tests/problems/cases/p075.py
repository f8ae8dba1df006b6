"""Gated DeltaNet over the whole sequence, by the recurrence on single vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

FLOPS = "the outer product of each step is elementwise for the counter"


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """This rank's piece with all heads."""
    q, k, v, gate, beta = (torch.cat([arguments[i][0].double() for arguments in everybody]) for i in range(5))
    a_log, dt_bias = (torch.cat([arguments[i].double() for arguments in everybody]) for i in (5, 6))
    decay = (-a_log.exp() * (1 + (gate + dt_bias).exp()).log()).exp()
    steps, heads, width = q.shape
    out = torch.zeros(v.shape, dtype=torch.float64)
    for head in range(heads):
        state = torch.zeros(width, v.shape[-1], dtype=torch.float64)
        for t in range(steps):
            key, query = k[t, head] / k[t, head].norm(), q[t, head] / q[t, head].norm() / width**0.5
            state = decay[t, head] * state
            state = state + torch.outer(key, beta[t, head] * (v[t, head] - state.T @ key))
            out[t, head] = state.T @ query
    return out.chunk(len(everybody))[rank][None]
