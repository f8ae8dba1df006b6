from __future__ import annotations

import torch
import torch.distributed as dist


@torch.no_grad()
def solution(tensor: torch.Tensor) -> torch.Tensor:
    """All ranks' tensors, stacked in rank order along a new first axis."""
    world = dist.get_world_size()
    flat = tensor.new_empty(world * tensor.numel())
    dist.all_gather_into_tensor(flat, tensor.reshape(-1))
    return flat.view(world, *tensor.shape)
