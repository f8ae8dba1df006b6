from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist

from problems.common.heads import redistribute


@torch.no_grad()
def solution(
    x: torch.Tensor,
    s: Sequence[int | None],
    dim: Sequence[int],
    norm: str = "ortho",
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """This rank's rows of the images' two-dimensional spectrum, the non-redundant half of the columns."""
    whole, split = (axis % x.dim() for axis in dim)
    columns = torch.fft.fft(x, n=s[0], dim=whole, norm=norm)  # (B, H, W / P)
    rows = redistribute(columns, whole, split, group)  # (B, H / P, W)
    spectrum: torch.Tensor = torch.fft.fft(rows, n=s[1], dim=split, norm=norm)
    return spectrum.narrow(split, 0, spectrum.shape[split] // 2 + 1).contiguous()
