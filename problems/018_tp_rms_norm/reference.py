from __future__ import annotations

import torch
import torch.distributed as dist


def solution(local_hidden_states: torch.Tensor, local_weight: torch.Tensor, variance_epsilon: float) -> torch.Tensor:
    """This rank's columns, normalised by the root mean square of the whole row and scaled by their weights."""
    columns = local_hidden_states.float()
    squares = columns.square().sum(dim=-1, keepdim=True)
    dist.all_reduce(squares)
    width = columns.shape[-1] * dist.get_world_size()
    normal = columns * torch.rsqrt(squares / width + variance_epsilon)
    return local_weight * normal.to(local_hidden_states.dtype)
