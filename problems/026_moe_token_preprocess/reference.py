from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.moe import gathered_counts


@torch.no_grad()
def solution(
    expert_mask: torch.Tensor, num_experts: int, group: dist.ProcessGroup | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows to each rank, rows from each rank, rows of each rank for each expert here, and their totals; on the CPU."""
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    counts = expert_mask.sum(dim=(1, 2))  # (experts,)
    every = gathered_counts(counts, group).view(world, world, -1)  # (source, owner, local expert)
    # One copy to the host for all results.
    numbers = torch.cat((counts.view(world, num_experts // world).sum(1), every[:, rank].flatten())).cpu()
    sent, local = numbers[:world], numbers[world:].view(world, -1)
    return sent.long(), local.sum(1).long(), local.clone(), local.sum(0)
