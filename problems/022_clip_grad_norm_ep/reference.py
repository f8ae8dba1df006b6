from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist


def _present(tensors: Sequence[torch.Tensor | None]) -> list[torch.Tensor]:
    return [tensor for tensor in tensors if tensor is not None]


def _power_sum(tensors: Sequence[torch.Tensor], p: float, *groups: dist.ProcessGroup | None) -> torch.Tensor:
    """The sum of |x|^p over all elements and over the ranks of all groups, a float32 scalar."""
    total = torch.zeros((), device=tensors[0].device)
    for tensor in tensors:
        total += torch.linalg.vector_norm(tensor.float(), p) ** p
    for group in groups:
        if group is not None:
            dist.all_reduce(total, group=group)
    return total


@torch.no_grad()
def solution(
    non_ep_grad_tensors: Sequence[torch.Tensor | None],
    ep_grad_tensors: Sequence[torch.Tensor | None],
    max_norm: float,
    norm_type: float = 2.0,
    ep_size: int = 1,
    fsdp_group: dist.ProcessGroup | None = None,
    ep_fsdp_group: dist.ProcessGroup | None = None,
    ep_group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """The p-norm of all ranks' gradients, the experts' over ep_size; scaled down in place where it exceeds max_norm."""
    p = float(norm_type)
    ordinary, experts = _present(non_ep_grad_tensors), _present(ep_grad_tensors)
    if ep_size > 1:
        for gradient in experts:
            gradient.mul_(1 / ep_size)

    total = _power_sum(ordinary, p, fsdp_group) + _power_sum(experts, p, ep_fsdp_group, ep_group)
    norm = total ** (1 / p)
    if norm > max_norm:
        for gradient in ordinary + experts:
            gradient.mul_(max_norm / norm)
    return norm
