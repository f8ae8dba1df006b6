"""A rank's features of everybody's batch, list by list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """Lengths and ids of the rank's features: feature by feature, source by source."""
    lengths: list[int] = []
    ids: list[int] = []
    key_splits = everybody[rank][2]
    first = sum(key_splits[:rank])
    for feature in range(first, first + key_splits[rank]):
        for own_lengths, values, _, batch, _ in everybody:
            counts = own_lengths.tolist()
            for sample in range(feature * batch, (feature + 1) * batch):
                start = sum(counts[:sample])
                lengths.append(counts[sample])
                ids += values[start : start + counts[sample]].tolist()
    batches = torch.tensor([arguments[3] for arguments in everybody])
    return {
        "lengths": torch.tensor(lengths),
        "values": torch.tensor(ids),
        "stride": batches.sum(),
        "stride_per_rank": batches,
    }
