from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.exchange import exchange_rows


@torch.no_grad()
def solution(
    local_tensor: torch.Tensor,
    input_split_sizes: list[int] | None = None,
    output_split_sizes: list[int] | None = None,
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """The rows that the ranks of the group sent here, in rank order."""
    world = dist.get_world_size(group)
    if world == 1:
        return local_tensor.contiguous()
    even = [local_tensor.shape[0] // world] * world
    return exchange_rows(local_tensor, input_split_sizes or even, output_split_sizes or even, group)
