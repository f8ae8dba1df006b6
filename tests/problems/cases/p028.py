"""Dispatch with lists of (source, place) instead of chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The rows that arrive, in the order of local experts, and what the rank keeps about its own."""
    arrived = []
    for hidden, mask, _, sent, *_ in everybody:
        start = sum(sent[:rank])
        arrived.append(hidden[_tokens(mask)[start : start + sent[rank]]])
    rows, counts = torch.cat(arrived), everybody[rank][5].flatten().tolist()
    width = len(counts) // len(everybody)
    labels = [chunk % width for chunk, count in enumerate(counts) for _ in range(count)]
    order = sorted(range(len(labels)), key=lambda place: labels[place])
    hidden, mask = everybody[rank][:2]
    return rows[order], mask.sum(1), torch.tensor(_tokens(mask)), hidden.shape


def _tokens(mask: torch.Tensor) -> list[int]:
    experts, _, tokens = mask.shape
    return [token for expert in range(experts) for token in range(tokens) if mask[expert, :, token].any()]
