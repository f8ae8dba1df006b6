from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F

from problems.common.rings import place_on_ring, wait_for


def _swap(
    tail_a: torch.Tensor, tail_b: torch.Tensor, group: dist.ProcessGroup | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """What comes before this rank's two chunks."""
    rank, last = dist.get_rank(group), dist.get_world_size(group) - 1
    before_a = torch.empty_like(tail_a) if rank > 0 else torch.zeros_like(tail_a)
    before_b = torch.empty_like(tail_b) if rank < last else tail_a
    both = []
    for there, sent, received in ((-1, tail_b, before_a), (1, tail_a, before_b)):
        if 0 <= rank + there <= last:
            neighbour = place_on_ring(there, group)
            both.append(dist.P2POp(dist.isend, sent, neighbour, group))
            both.append(dist.P2POp(dist.irecv, received, neighbour, group))
    if both:
        wait_for(dist.batch_isend_irecv(both))
    return before_a, before_b


@torch.no_grad()
def solution(x: torch.Tensor, weight: torch.Tensor, group: dist.ProcessGroup | None = None) -> torch.Tensor:
    """The causal convolution of this rank's two chunks."""
    a, b = x.chunk(2, dim=-1)  # (batch, C, L/2)
    pad = weight.shape[-1] - 1
    befores = _swap(a[..., -pad:].contiguous(), b[..., -pad:].contiguous(), group)
    padded = [torch.cat(both, dim=-1) for both in zip(befores, (a, b))]
    return torch.cat([F.conv1d(chunk, weight, groups=x.shape[1]) for chunk in padded], dim=-1)
