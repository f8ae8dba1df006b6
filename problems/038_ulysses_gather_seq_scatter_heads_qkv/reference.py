from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.heads import redistribute


def solution(
    qkv_tensor: torch.Tensor,
    seq_dim: int,
    group: dist.ProcessGroup | None = None,
    unpadded_dim_size: int | None = None,
    restore_shape: bool = True,
) -> torch.Tensor:
    """All positions of this rank's share of the heads of Q, K and V."""
    last = qkv_tensor.dim() - 1
    gathered = redistribute(qkv_tensor.unflatten(last, (3, -1)), last + 1, seq_dim, group)  # (B, P*T, 3, W/P)
    if restore_shape:
        gathered = gathered.flatten(last)
    length = unpadded_dim_size or 0
    padded = length % dist.get_world_size(group) != 0
    return gathered.narrow(seq_dim, 0, length) if padded else gathered
