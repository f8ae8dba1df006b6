from __future__ import annotations

import torch

from problems.common.gathers import all_gather_along

_LARGEST = 448.0


def _quotients(x: torch.Tensor, block_size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Each element over its block's scale, (M, N), and the scales, (M, N / block_size); float32."""
    if x.shape[-1] % block_size:
        raise ValueError(f"blocks of {block_size} do not fill rows of {x.shape[-1]} elements")
    blocks = x.float().unflatten(-1, (-1, block_size))
    scale = blocks.abs().amax(dim=-1) / _LARGEST
    divisor = torch.where(scale == 0, 1.0, scale)
    return (blocks / divisor.unsqueeze(-1)).flatten(-2), scale


def _gathered_codes(quotients: torch.Tensor) -> torch.Tensor:
    """All ranks' quotients as float8, (P * M, N)."""
    # Gloo knows no float8: its bytes travel.
    codes = quotients.to(torch.float8_e4m3fn).view(torch.uint8)
    return all_gather_along(codes, dim=0).view(torch.float8_e4m3fn)


def solution(local_tensor: torch.Tensor, block_size: int = 128) -> tuple[torch.Tensor, torch.Tensor]:
    """All ranks' rows as float8, (P * M, N), and the scales of their blocks, (P * M, N / block_size)."""
    quotients, scale = _quotients(local_tensor, block_size)
    return _gathered_codes(quotients), all_gather_along(scale, dim=0)
