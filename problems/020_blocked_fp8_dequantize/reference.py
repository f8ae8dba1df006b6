from __future__ import annotations

import torch
import torch.distributed as dist


def solution(local_y: torch.Tensor, local_s: torch.Tensor, block_size: int = 128) -> torch.Tensor:
    """The chunks for this rank from every rank, times their scales, (P, M, N) float32."""
    if local_y[0].numel() % block_size:
        raise ValueError(f"blocks of {block_size} do not fill chunks of {local_y[0].numel()} elements")
    blocks = local_y.float().reshape(-1, block_size)
    chunks = (blocks * local_s.reshape(-1, 1)).float().view(local_y.shape)
    received = torch.empty_like(chunks)
    dist.all_to_all_single(received, chunks)
    return received
