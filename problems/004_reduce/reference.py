from __future__ import annotations

import torch
import torch.distributed as dist


@torch.no_grad()
def solution(tensor: torch.Tensor, dst: int = 0) -> torch.Tensor:
    """The sum of all ranks' tensors on rank ``dst``, a copy of the own tensor elsewhere."""
    partial = tensor.clone()
    dist.reduce(partial, dst)
    # Backends may leave partial sums in the buffers of the other ranks.
    return partial if dist.get_rank() == dst else tensor.clone()
