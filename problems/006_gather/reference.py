from __future__ import annotations

import torch
import torch.distributed as dist


@torch.no_grad()
def solution(tensor: torch.Tensor, dst: int = 0) -> torch.Tensor:
    """All ranks' tensors stacked in rank order on rank ``dst``, the argument itself elsewhere."""
    if dist.get_rank() != dst:
        dist.gather(tensor.contiguous(), dst=dst)
        return tensor
    stack = tensor.new_empty(dist.get_world_size(), *tensor.shape)
    dist.gather(tensor.contiguous(), list(stack.unbind(0)), dst=dst)
    return stack
