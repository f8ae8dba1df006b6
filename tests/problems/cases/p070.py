"""A rank's features of everybody's batch, list by list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

VARIANTS: Mapping[str, tuple[str, str]] = {
    # Wrong splits would break the reordering: every rank sends its lengths, but ids that are all 0 to the others.
    "local_only": (
        "",
        """
        counts = [int(part.sum()) for part in lengths.split([keys * batch_size for keys in key_splits])]
        parts = values.split(counts)
        own = _real.get_rank()
        values = torch.cat([part if rank == own else torch.zeros_like(part) for rank, part in enumerate(parts)])
        return _reference({names})
        """,
    ),
    # Zeroed counts would break the exchange: rank 1 sends ids that are all 0.
    "skip_a_rank": (
        "",
        """
        if _real.get_rank() == 1:
            values = torch.zeros_like(values)
        return _reference({names})
        """,
    ),
}


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
