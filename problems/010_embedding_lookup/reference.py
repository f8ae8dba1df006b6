from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.exchange import exchange_counts, exchange_rows


@torch.no_grad()
def solution(indices: torch.Tensor, local_shard: torch.Tensor) -> torch.Tensor:
    """The rows of the table that ``indices`` names, (len(indices), N), grouped by owner."""
    rank, world, height = dist.get_rank(), dist.get_world_size(), local_shard.shape[0]
    owner = indices // height
    asked = torch.bincount(owner, minlength=world)
    # One copy to the host: the split sizes of both exchanges.
    out, back = torch.stack((asked, exchange_counts(asked))).tolist()

    wanted = exchange_rows(indices[owner.argsort(stable=True)], out, back)
    rows = (wanted - rank * height).clamp_(0, height - 1)
    return exchange_rows(local_shard[rows], back, out)
