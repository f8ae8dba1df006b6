from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor

from problems.common.attention import block_scores
from problems.common.rings import ring, start_shift, wait_for


def _block_gradients(
    queries: tuple[Tensor, Tensor, Tensor, Tensor], k: Tensor, v: Tensor, masked: bool
) -> tuple[Tensor, Tensor]:
    """dQ of one block of keys, without the factor scale, and its dK and dV stacked.

    Queries are scale * q and dout, (B, H, S, Dh), and the log-sum-exp and sum of dout * out of each, (B, H, S, 1).
    """
    q, dout, lse, row_sum = queries
    p = torch.exp(block_scores(q, k, masked) - lse)
    dS = p * (dout @ v.mT - row_sum)
    return dS @ k, torch.stack((dS.mT @ q, p.mT @ dout))


def _ring_backward(
    queries: tuple[Tensor, Tensor, Tensor, Tensor], kv: Tensor, causal: bool, group: dist.ProcessGroup | None
) -> tuple[Tensor, Tensor]:
    """dQ, without the factor scale, and dK with dV of this rank's piece; these travel one hop behind the keys."""
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    dq = torch.zeros_like(queries[0])
    travelling = torch.stack((dq, dq))
    works: list[dist.Work] = []
    for step, held in enumerate(ring(kv, group)):
        used = not causal or step <= rank
        if used:
            keys, values = held.transpose(2, 3).float()
            dQ, dKV = _block_gradients(queries, keys, values, causal and step == 0)
            dq += dQ
        wait_for(works)
        if used:
            travelling = travelling + dKV
        if world > 1:
            (travelling,), works = start_shift([travelling], [1], group)
    wait_for(works)
    return dq, travelling


def solution(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    softmax_lse: Tensor,
    softmax_scale: float | None = None,
    causal: bool = False,
    cp_group: dist.ProcessGroup | None = None,
    dp_group: dist.ProcessGroup | None = None,
) -> tuple[Tensor, ...]:
    """dq, dk and dv of this rank's piece, averaged over the replicas."""
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    query, gradient, output = (tensor.transpose(1, 2).float() for tensor in (q, dout, out))
    row_sum = (gradient * output).sum(dim=-1, keepdim=True)
    queries = (query * scale, gradient, softmax_lse.float().unsqueeze(-1), row_sum)
    dq, dkv = _ring_backward(queries, torch.stack((k, v)), causal, cp_group)
    gradients = [part.transpose(1, 2).to(q.dtype).contiguous() for part in (dq * scale, *dkv)]
    replicas = 1 if dp_group is None else dist.get_world_size(dp_group)
    if replicas > 1:
        for part in gradients:
            dist.all_reduce(part, group=dp_group)
            part /= replicas
    return tuple(gradients)
