from __future__ import annotations

import torch
import torch.distributed as dist


@torch.no_grad()
def solution(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's block of rows of the sum over all ranks."""
    rows, *rest = tensor.shape
    block = tensor.new_empty(rows // dist.get_world_size(), *rest)
    dist.reduce_scatter_tensor(block, tensor.contiguous())
    return block
