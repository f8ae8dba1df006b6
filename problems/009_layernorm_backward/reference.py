from __future__ import annotations

import torch
import torch.distributed as dist


@torch.no_grad()
def solution(X_hat: torch.Tensor, dY: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of scale and shift over all ranks' rows, (N,) each."""
    d_beta = dY.sum(dim=0)
    d_gamma = (dY * X_hat).sum(dim=0)
    dist.all_reduce(d_beta)
    dist.all_reduce(d_gamma)
    return d_gamma, d_beta
