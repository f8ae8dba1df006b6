from __future__ import annotations

from typing import NamedTuple

import torch
import torch.distributed as dist

from problems.common.attention import block_scores
from problems.common.rings import ring, start_shift, wait_for


class _Queries(NamedTuple):
    """What stays on this rank, in float32: (B, H, S, Dh), and (B, H, S, 1) for one number a query."""

    q: torch.Tensor
    dout: torch.Tensor
    lse: torch.Tensor
    row_dot: torch.Tensor
    scale: float

    def block_gradients(self, k: torch.Tensor, v: torch.Tensor, masked: bool) -> tuple[torch.Tensor, torch.Tensor]:
        """dQ of one block of keys, and its dK and dV stacked."""
        p = torch.exp(block_scores(self.q * self.scale, k, masked) - self.lse)
        dS = p * (self.dout @ v.mT - self.row_dot)
        return dS @ k * self.scale, torch.stack((dS.mT @ self.q * self.scale, p.mT @ self.dout))


def _ring_backward(
    queries: _Queries, kv: torch.Tensor, causal: bool, group: dist.ProcessGroup | None
) -> tuple[torch.Tensor, torch.Tensor]:
    """dq, and dk with dv stacked, of this rank's piece; gradients travel one hop behind their keys and values."""
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    dq = torch.zeros_like(queries.q)
    travelling = queries.q.new_zeros(2, *queries.q.shape)
    works: list[dist.Work] = []
    for step, held in enumerate(ring(kv, group)):
        used = not causal or step <= rank
        if used:
            keys, values = held.transpose(2, 3).float()
            dQ, dKV = queries.block_gradients(keys, values, causal and step == 0)
            dq += dQ
        wait_for(works)
        if used:
            travelling = travelling + dKV
        if world > 1:
            (travelling,), works = start_shift([travelling], [1], group)
    wait_for(works)
    return dq, travelling


def solution(
    dout: torch.Tensor,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    out: torch.Tensor,
    softmax_lse: torch.Tensor,
    softmax_scale: float | None = None,
    causal: bool = False,
    cp_group: dist.ProcessGroup | None = None,
    dp_group: dist.ProcessGroup | None = None,
) -> tuple[torch.Tensor, ...]:
    """dq, dk and dv of this rank's piece, averaged over the replicas."""
    queries, gradient, output = (tensor.transpose(1, 2).float() for tensor in (q, dout, out))
    row_dot = (gradient * output).sum(dim=-1, keepdim=True)
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    stays = _Queries(queries, gradient, softmax_lse.float().unsqueeze(-1), row_dot, scale)
    dq, dkv = _ring_backward(stays, torch.stack((k, v)), causal, cp_group)
    gradients = [part.transpose(1, 2).to(q.dtype).contiguous() for part in (dq, *dkv)]
    replicas = 1 if dp_group is None else dist.get_world_size(dp_group)
    if replicas > 1:
        for part in gradients:
            dist.all_reduce(part, group=dp_group)
            part /= replicas
    return tuple(gradients)
