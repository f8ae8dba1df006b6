from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.heads import redistribute


def solution(
    x: torch.Tensor, scatter_dim: int, gather_dim: int, group: dist.ProcessGroup | None = None
) -> torch.Tensor:
    """This rank's part of every rank's ``scatter_dim``, joined along ``gather_dim``."""
    if dist.get_world_size(group) == 1:
        return x.contiguous()
    return redistribute(x, scatter_dim, gather_dim, group)
