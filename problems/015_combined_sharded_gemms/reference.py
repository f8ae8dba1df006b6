from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F

from problems.common.gathers import all_gather_along


@torch.no_grad()
def solution(x_local: torch.Tensor, W1: torch.Tensor, W2: torch.Tensor) -> torch.Tensor:
    """This rank's rows of the two-layer MLP, (M_rows / P, H)."""
    x = all_gather_along(x_local, dim=1)  # (M_rows, H)
    hidden = F.silu(x @ W1)  # (M_rows, F)

    height = x.shape[0] // dist.get_world_size()
    own = slice(dist.get_rank() * height, (dist.get_rank() + 1) * height)
    partial = torch.zeros_like(x)
    torch.mm(hidden[own], W2, out=partial[own])
    block = x.new_empty(height, x.shape[1])
    dist.reduce_scatter_tensor(block, partial)
    return block
