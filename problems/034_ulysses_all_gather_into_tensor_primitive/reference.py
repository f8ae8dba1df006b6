from __future__ import annotations

import torch
import torch.distributed as dist


def solution(x: torch.Tensor, group: dist.ProcessGroup | None = None) -> torch.Tensor:
    """The tensors of all ranks, joined along the first axis."""
    world = dist.get_world_size(group)
    if world == 1:
        return x.contiguous()
    gathered = x.new_empty(world * x.shape[0], *x.shape[1:])
    dist.all_gather_into_tensor(gathered, x.contiguous(), group=group)
    return gathered
