from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F

Triple = int | tuple[int, int, int]


@torch.no_grad()
def solution(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None,
    stride: Triple,
    padding: Triple,
    dilation: Triple,
    groups: int = 1,
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """The convolution over all ranks' input channels, (1, Co, T, H, W), with the bias added once."""
    out = F.conv3d(input, weight, None, stride, padding, dilation, groups)
    dist.all_reduce(out, group=group)
    return out if bias is None else out + bias.view(1, -1, 1, 1, 1)
