from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.exchange import exchange_relative


@torch.no_grad()
def solution(
    local_features: torch.Tensor,
    seed_inverse_ids: torch.Tensor,
    counts_sent: list[int],
    counts_received: list[int],
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """The feature rows that this rank asked for: from itself, then from the next rank, and so on round."""
    return exchange_relative(local_features[seed_inverse_ids], counts_received, counts_sent, group)
