from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from problems.common.heads import redistribute


def _to_channels(x: Tensor, zigzag: bool, group: dist.ProcessGroup | None) -> Tensor:
    """(b, C, L) of this rank's positions to (b, C/P, S) of this rank's channels, in natural order."""
    full = redistribute(x, 1, 2, group)
    if not zigzag:
        return full
    rising, falling = full.unflatten(-1, (dist.get_world_size(group), 2, -1)).unbind(-2)  # (b, C/P, P, L/2)
    return torch.cat((rising, falling.flip(-2)), dim=-2).flatten(-2)


def _to_sequence(full: Tensor, zigzag: bool, group: dist.ProcessGroup | None) -> Tensor:
    """(b, C/P, S) of this rank's channels, in natural order, to (b, C, L) of this rank's positions."""
    if zigzag:
        rising, falling = full.unflatten(-1, (2, dist.get_world_size(group), -1)).unbind(-3)
        full = torch.stack((rising, falling.flip(-2)), dim=-2).flatten(-3)
    return redistribute(full, 2, 1, group)


def _long_convolution(z: Tensor, filters: Tensor, bias: Tensor) -> Tensor:
    """Convolution of each channel (b, c, S) with its filter (c, taps), plus z times the channel's bias, in float32."""
    length, wide = z.shape[-1], z.float()
    n = 2 * length
    spectrum = torch.fft.rfft(wide, n) * torch.fft.rfft(filters.float(), n)
    convolved: Tensor = torch.fft.irfft(spectrum, n)[..., :length]
    return convolved + wide * bias.float().unsqueeze(-1)


@torch.no_grad()
def solution(
    x1_seq: Tensor,
    x2_seq: Tensor,
    v_seq: Tensor,
    h: Tensor,
    conv_bias: Tensor,
    num_groups: int,
    group_dim: int,
    group: dist.ProcessGroup | None = None,
    with_zigzag_splitting: bool = True,
) -> Tensor:
    """x1 * longconv(x2 * v) at this rank's positions, (b, L, C)."""
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    x1, x2, v = (_to_channels(x, with_zigzag_splitting, group) for x in (x1_seq, x2_seq, v_seq))
    groups = num_groups // world
    filters = h[rank * groups : (rank + 1) * groups].repeat_interleave(group_dim, dim=0)
    y = _long_convolution(x2 * v, filters, conv_bias.chunk(world)[rank]).to(v.dtype)
    return _to_sequence(x1 * y, with_zigzag_splitting, group).mT.contiguous()
