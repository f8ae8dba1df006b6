from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist

from problems.common.gathers import all_gather_along
from problems.common.heads import redistribute


def _full_rows(
    half: torch.Tensor, rows: int, columns: int, width: int, group: dist.ProcessGroup | None
) -> torch.Tensor:
    """This rank's rows of the full spectrum, ``width`` wide along ``columns``, from those of the half spectrum."""
    mirrored = width - half.shape[columns]
    inner = half.narrow(columns, 1, mirrored)
    padded = torch.cat((half, inner.conj().flip(columns)), dim=columns)
    whole = all_gather_along(padded, rows, group)
    # Row 0 is its own mirror, row h that of row H - h.
    own = torch.arange(half.shape[rows], device=half.device) + dist.get_rank(group) * half.shape[rows]
    right = whole.narrow(columns, width - mirrored, mirrored).index_select(rows, -own % whole.shape[rows])
    return torch.cat((half, right), dim=columns)


@torch.no_grad()
def solution(
    x: torch.Tensor,
    s: Sequence[int] | None,
    dim: Sequence[int],
    norm: str = "ortho",
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """This rank's columns of the real images whose half spectra the ranks hold by rows."""
    rows, columns = (axis % x.dim() for axis in dim)
    height, width = s or (x.shape[rows], 2 * (x.shape[columns] - 1))
    if height % dist.get_world_size(group):
        raise ValueError(f"{height} rows do not divide over {dist.get_world_size(group)} ranks")
    spectrum = _full_rows(x, rows, columns, width, group)  # (B, C, H / P, W)
    lines = torch.fft.ifft(spectrum, n=width, dim=columns, norm=norm)
    turned = redistribute(lines, columns, rows, group)  # (B, C, H, W / P)
    images: torch.Tensor = torch.fft.ifft(turned, n=height, dim=rows, norm=norm).real
    return images.contiguous()
