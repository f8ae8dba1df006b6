from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist


def _power_sum(tensors: Sequence[torch.Tensor], p: float) -> torch.Tensor:
    """The sum of |x|^p over all elements, a float32 scalar."""
    total = torch.zeros((), device=tensors[0].device)
    for tensor in tensors:
        total += torch.linalg.vector_norm(tensor.float(), p) ** p
    return total


@torch.no_grad()
def solution(
    grad_tensors: Sequence[torch.Tensor | None],
    max_norm: float,
    norm_type: float = 2.0,
    fsdp_group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """The p-norm of all ranks' gradients; where it exceeds ``max_norm`` they are scaled down to it in place."""
    p = float(norm_type)
    gradients = [gradient for gradient in grad_tensors if gradient is not None]
    total = _power_sum(gradients, p)
    if fsdp_group is not None:
        dist.all_reduce(total, group=fsdp_group)
    norm = total ** (1 / p)
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    return norm
