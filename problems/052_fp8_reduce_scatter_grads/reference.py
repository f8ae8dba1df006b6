from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.quantization import through_fp8


@torch.no_grad()
def solution(flat_grads: torch.Tensor, amax_history: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """This rank's shard of the mean of what fp8 leaves of the gradients, and its own new history."""
    values, history = through_fp8(flat_grads, amax_history)
    world = dist.get_world_size()
    shard = values.new_empty(values.numel() // world)
    dist.reduce_scatter_tensor(shard, values)
    return shard.div_(world), history
