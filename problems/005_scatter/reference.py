from __future__ import annotations

import torch
import torch.distributed as dist


@torch.no_grad()
def solution(tensor: torch.Tensor, src: int = 0) -> torch.Tensor:
    """This rank's slice of the stack that rank ``src`` holds."""
    if dist.get_rank() != src:
        piece = torch.empty_like(tensor)
        dist.scatter(piece, src=src)
        return piece
    thickness = tensor.shape[0] // dist.get_world_size()
    pieces = list(tensor.contiguous().unbind(0) if thickness == 1 else torch.split(tensor.contiguous(), thickness))
    piece = torch.empty_like(pieces[0])
    dist.scatter(piece, pieces, src=src)
    return piece
