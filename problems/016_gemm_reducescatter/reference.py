from __future__ import annotations

import torch
import torch.distributed as dist


@torch.no_grad()
def solution(A_local: torch.Tensor, B_local: torch.Tensor) -> torch.Tensor:
    """This rank's rows of the sum over ranks of their local products, (M / P, N)."""
    partial = A_local @ B_local
    block = partial.new_empty(partial.shape[0] // dist.get_world_size(), partial.shape[1])
    dist.reduce_scatter_tensor(block, partial)
    return block
