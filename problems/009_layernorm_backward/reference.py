from __future__ import annotations

import torch
import torch.distributed as dist


def _summed(rows: torch.Tensor) -> torch.Tensor:
    """The sum over all ranks' rows, (N,)."""
    total = rows.sum(dim=0)
    dist.all_reduce(total)
    return total


@torch.no_grad()
def solution(X_hat: torch.Tensor, dY: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of scale and shift, (N,) each."""
    return _summed(dY * X_hat), _summed(dY)
