from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.exchange import exchange_rows, exchange_splits


@torch.no_grad()
def solution(
    idx: torch.Tensor, value: torch.Tensor, num_nodes: int, group: dist.ProcessGroup | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The ids that this rank owns and their rows, by source, in the source's order."""
    world = dist.get_world_size(group)
    if world == 1:
        return idx, value
    owner = idx % world
    order = owner.argsort(stable=True)
    sent, received = exchange_splits(owner, group)
    return exchange_rows(idx[order], sent, received, group), exchange_rows(value[order], sent, received, group)
