"""The loss of each rank, counted token by token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

INAPPLICABLE: Mapping[str, str] = {
    "other_rank": "every rank's result is the same",
    "float16": "a single number can be close to one that float16 has",
}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The mean of the ranks' losses."""
    return torch.stack([_loss(logits.double(), top_k) for logits, _, top_k, _ in everybody]).mean()


def _loss(logits: torch.Tensor, top_k: int) -> torch.Tensor:
    tokens, experts = logits.shape
    counts = torch.zeros(experts, dtype=torch.float64)
    for row in logits.tolist():
        for expert in sorted(range(experts), key=row.__getitem__)[-top_k:]:
            counts[expert] += 1
    probabilities = logits.exp() / logits.exp().sum(1, keepdim=True)
    return experts * counts @ probabilities.sum(0) / tokens**2
