from __future__ import annotations

import torch
import torch.distributed as dist


def _summed(values: torch.Tensor, group: dist.ProcessGroup | None) -> torch.Tensor:
    dist.all_reduce(values, group=group)
    return values


@torch.no_grad()
def solution(
    teacher_output: torch.Tensor,
    teacher_temp: float,
    n_masked_patches_tensor: torch.Tensor,
    n_iterations: int = 3,
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """The share of each prototype in each of this rank's samples, (b, K)."""
    Q = torch.exp(teacher_output / teacher_temp).T  # (K, b)
    total = _summed(n_masked_patches_tensor.to(Q.dtype), group)
    Q /= _summed(Q.sum(), group)
    for _ in range(n_iterations):
        Q /= _summed(Q.sum(dim=1, keepdim=True), group)  # per prototype, over all ranks' samples
        Q /= Q.shape[0]
        Q /= Q.sum(dim=0, keepdim=True)  # per sample
        Q /= total
    Q *= total
    return Q.T.contiguous()
