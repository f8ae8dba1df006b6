from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F

from problems.common.gathers import all_gather_along


def _with_neighbours(x: torch.Tensor, rows: int, group: dist.ProcessGroup | None) -> torch.Tensor:
    """The strip between the nearest ``rows`` rows of the strips above and below; zeros outside the image."""
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    edges = torch.stack((x[:, :, :rows], x[:, :, -rows:])).unsqueeze(0)
    tops, bottoms = all_gather_along(edges, 0, group).unbind(1)  # (P, B, C, rows, W) each
    outside = torch.zeros_like(tops[0])
    above = bottoms[rank - 1] if rank > 0 else outside
    below = tops[rank + 1] if rank < world - 1 else outside
    return torch.cat((above, x, below), dim=2)


@torch.no_grad()
def solution(
    x: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: int = 1,
    padding: int = 1,
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """This rank's strip of the convolved image."""
    if padding == 0 or dist.get_world_size(group) == 1:
        return F.conv2d(x, weight, bias, stride, padding)
    return F.conv2d(_with_neighbours(x, padding, group), weight, bias, stride, (0, padding))
