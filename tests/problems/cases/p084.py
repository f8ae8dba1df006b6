"""The gradient of filtered log-probabilities by autograd, token by token over the whole vocabulary."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from tests.problems.cases.p082 import survivors


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The columns of this rank's part of the vocabulary."""
    logits = torch.cat([arguments[0].double() for arguments in everybody], dim=-1)
    target, weights, _, top_k, top_p, _ = everybody[rank][1:]
    gradient = torch.zeros_like(logits).flatten(0, 1)
    tokens = zip(logits.flatten(0, 1), target.flatten().tolist(), weights.flatten().double(), strict=True)
    for token, (row, chosen, weight) in enumerate(tokens):
        kept = survivors(row, top_k, top_p)
        leaf = row.clone().requires_grad_()
        with torch.enable_grad():
            # A dropped target has probability 0: only the others' shares are left of the gradient.
            value = (leaf[chosen] if chosen in kept else 0) - leaf[kept].logsumexp(0)
        (slope,) = torch.autograd.grad(value, leaf)
        gradient[token] = slope * weight
    return gradient.view(logits.shape).chunk(len(everybody), dim=-1)[rank]
