from __future__ import annotations

import torch
import torch.distributed as dist


@torch.no_grad()
def solution(tensor: torch.Tensor, src: int = 0) -> torch.Tensor:
    """A copy of rank ``src``'s tensor."""
    received = tensor.clone()
    dist.broadcast(received, src)
    return received
