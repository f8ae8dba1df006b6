from __future__ import annotations

import torch
import torch.distributed as dist


def _pass_on(sent: torch.Tensor, group: dist.ProcessGroup | None) -> tuple[torch.Tensor, list[dist.Work]]:
    """Start sending to the next rank of the ring and receiving from the one before."""
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    after, before = (rank + 1) % world, (rank - 1) % world
    if group is not None:
        after, before = dist.get_global_rank(group, after), dist.get_global_rank(group, before)
    received = torch.empty_like(sent)
    both = [dist.P2POp(dist.isend, sent, after, group), dist.P2POp(dist.irecv, received, before, group)]
    return received, dist.batch_isend_irecv(both)


def _attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, masked: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Softmax attention over one block of keys, and the log-sum-exp of its scores."""
    scores = q @ k.mT
    if masked:
        future = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(future, float("-inf"))
    total = scores.logsumexp(dim=-1, keepdim=True)
    return torch.exp(scores - total) @ v, total


def solution(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    softmax_scale: float | None = None,
    causal: bool = False,
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """Attention of this rank's queries over all ranks' keys (those before them, where causal)."""
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    queries = q.transpose(1, 2).float() * scale
    held = torch.stack((k, v))
    out = torch.zeros_like(queries)
    lse = queries.new_full((*queries.shape[:-1], 1), float("-inf"))
    for step in range(world):
        arriving, works = _pass_on(held, group) if step < world - 1 else (held, [])
        if not causal or step <= rank:
            keys, values = held.transpose(2, 3).float()
            block, total = _attend(queries, keys, values, causal and step == 0)
            merged = torch.logaddexp(lse, total)
            out = out * torch.exp(lse - merged) + block * torch.exp(total - merged)
            lse = merged
        for work in works:
            work.wait()
        held = arriving
    return out.transpose(1, 2).to(q.dtype).contiguous()
