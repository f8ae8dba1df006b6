"""Log-probabilities of targets under top-k and top-p, token by token over the whole vocabulary."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

INAPPLICABLE: Mapping[str, str] = {"other_rank": "every rank's result is the same"}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """log(p(target) / sum of p over the survivors), -inf where the target is none of them."""
    logits = torch.cat([arguments[0].double() for arguments in everybody], dim=-1).flatten(0, 1)
    target, _, top_k, top_p = everybody[rank][1:5]
    found = []
    for row, chosen in zip(logits, target.flatten().tolist(), strict=True):
        kept = survivors(row, top_k, top_p)
        found.append(float(row[chosen] - row[kept].logsumexp(0)) if chosen in kept else float("-inf"))
    return torch.tensor(found, dtype=torch.float64).view(target.shape)


def survivors(row: torch.Tensor, top_k: int, top_p: float) -> list[int]:
    """Places of a row that both filters keep, the best first: from the top, until top_p is reached."""
    order = row.argsort(descending=True).tolist()
    order = [place for place in order if row[place] >= row[order[top_k - 1]]]
    weights = row[order].exp()
    shares = (weights / weights.sum()).tolist()
    return [place for number, place in enumerate(order) if number == 0 or sum(shares[:number]) < top_p]
