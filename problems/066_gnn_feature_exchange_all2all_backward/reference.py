from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.exchange import exchange_rows


@torch.no_grad()
def solution(
    grad_output: torch.Tensor,
    seed_inverse_ids: torch.Tensor,
    seed_size: int,
    counts_sent: list[int],
    counts_received: list[int],
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """The gradient of this rank's seed rows, (seed_size, H)."""
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    first = world - rank  # the block of rank 0 among blocks that begin with this rank's own
    sent = [*counts_sent[first:], *counts_sent[:first]]
    received = [*counts_received[first:], *counts_received[:first]]
    rows = exchange_rows(grad_output.roll(-sum(counts_sent[:first]), dims=0), sent, received, group)
    seeds = seed_inverse_ids.roll(-sum(counts_received[:first]))
    return rows.new_zeros(seed_size, rows.shape[1]).index_add_(0, seeds, rows)
