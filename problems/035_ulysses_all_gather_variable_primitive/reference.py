from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.gathers import all_gather_along, all_gather_rows


def solution(x: torch.Tensor, gather_dim: int, group: dist.ProcessGroup | None = None) -> torch.Tensor:
    """The tensors of all ranks, whatever their sizes, joined along ``gather_dim``."""
    x = x.contiguous()
    if dist.get_world_size(group) == 1:
        return x
    own = torch.tensor([x.shape], device=x.device)
    lengths: list[int] = all_gather_along(own, 0, group)[:, gather_dim].tolist()
    if len(set(lengths)) == 1:
        return all_gather_along(x, gather_dim, group)
    rows = all_gather_rows(x.movedim(gather_dim, 0), lengths, group)
    return rows.movedim(0, gather_dim).contiguous()
