from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.gathers import all_gather_along


def solution(x: torch.Tensor, group: dist.ProcessGroup | None = None) -> torch.Tensor:
    """The tensors of all ranks, joined along the first axis."""
    return x.contiguous() if dist.get_world_size(group) == 1 else all_gather_along(x, 0, group)
