"""Problem 77: one softmax for each token and head, over the keys of its range in the whole sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> torch.Tensor:
    """The attention of the rank's tokens."""
    query, _, bounds, ranges, clip, _ = everybody[rank]
    width = query.shape[2]
    # (R, P * spb, Hkv, 2D): range i of every rank, one after the other, the surplus cut off
    pieces = [arguments[1].double().chunk(ranges) for arguments in everybody]
    sequence = torch.cat([torch.cat([piece[i] for piece in pieces])[:clip] for i in range(ranges)])
    shared = query.shape[1] // sequence.shape[1]
    result = torch.empty(query.shape, dtype=torch.float64)
    tokens = query.shape[0] // ranges
    for i in range(ranges):
        kept = sequence[int(bounds[i, 0]) : int(bounds[i, 1])]
        rows = slice(i * tokens, (i + 1) * tokens)
        for head in range(query.shape[1]):
            key, value = kept[:, head // shared, :width], kept[:, head // shared, width:]
            scores = query[rows, head].double() @ key.T / width**0.5
            result[rows, head] = scores.softmax(dim=1) @ value
    return result
