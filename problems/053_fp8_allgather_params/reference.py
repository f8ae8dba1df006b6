from __future__ import annotations

import torch

from problems.common.gathers import all_gather_along
from problems.common.quantization import through_fp8


@torch.no_grad()
def solution(flat_param_shard: torch.Tensor, amax_history: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """All ranks' shards as fp8 leaves them, in rank order, and this rank's new history."""
    values, history = through_fp8(flat_param_shard, amax_history)
    return all_gather_along(values, 0), history
