from __future__ import annotations

import torch
import torch.distributed as dist


@torch.no_grad()
def solution(A_local: torch.Tensor, B_local: torch.Tensor) -> torch.Tensor:
    """The sum over ranks of their local products."""
    product = torch.matmul(A_local.contiguous(), B_local.contiguous())
    dist.all_reduce(product)
    return product
