from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.exchange import exchange_rows, exchange_splits


@torch.no_grad()
def solution(indices: torch.Tensor, local_shard: torch.Tensor) -> torch.Tensor:
    """The rows of the table that ``indices`` names, (len(indices), N), grouped by owner."""
    rank, height = dist.get_rank(), local_shard.shape[0]
    owner = indices // height
    out, back = exchange_splits(owner)
    wanted = exchange_rows(indices[owner.argsort(stable=True)], out, back)
    rows = (wanted - rank * height).clamp_(0, height - 1)
    return exchange_rows(local_shard[rows], back, out)
