"""Rows of the whole table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

VARIANTS: Mapping[str, tuple[str, str]] = {
    # Another rank's ids lie outside this one's rows: each id stands for the same place of the rank's own range.
    "local_only": (
        "",
        """
        shard = local_embedding_shard.shape[0]
        input_node_ids = input_node_ids % shard + _real.get_rank(group) * shard
        return _reference({names})
        """,
    ),
}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """The projected rows of this rank's ids."""
    table = torch.cat([arguments[0].double() for arguments in everybody])
    _, ids, projection, *_ = everybody[rank]
    return table[ids] @ projection.double()
