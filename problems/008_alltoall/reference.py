from __future__ import annotations

import torch
import torch.distributed as dist


@torch.no_grad()
def solution(tensor: torch.Tensor) -> torch.Tensor:
    """Slice ``s`` of the result is what rank ``s`` held for this rank."""
    received = torch.empty_like(tensor, memory_format=torch.contiguous_format)
    dist.all_to_all_single(received, tensor.contiguous())
    return received
