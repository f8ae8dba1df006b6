from __future__ import annotations

import torch
import torch.distributed as dist


@torch.no_grad()
def solution(tensor: torch.Tensor) -> torch.Tensor:
    """The sum of all ranks' tensors, on every rank."""
    total = tensor.clone()
    dist.all_reduce(total)
    return total
