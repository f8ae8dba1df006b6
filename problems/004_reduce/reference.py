from __future__ import annotations

import torch
import torch.distributed as dist


@torch.no_grad()
def solution(tensor: torch.Tensor, dst: int = 0) -> torch.Tensor:
    """The sum of all ranks' tensors on rank ``dst``, a copy of the own tensor elsewhere."""
    partial = tensor.clone()
    dist.reduce(partial, dst)
    # Only NCCL promises not to touch the buffers of the other ranks: gloo leaves partial sums there.
    return partial if dist.get_rank() == dst or tensor.is_cuda else tensor.clone()
