from __future__ import annotations

import functools

import torch
import torch.distributed as dist
import torch.nn.functional as F

from problems.common.gathers import all_gather_along


@functools.cache
def _groups(n_tp: int, n_fsdp: int) -> tuple[dist.ProcessGroup, dist.ProcessGroup]:
    """This rank's TP group (consecutive ranks) and FSDP group (strided ranks); made once, by all ranks together."""
    tp = [dist.new_group([f * n_tp + t for t in range(n_tp)]) for f in range(n_fsdp)]
    fsdp = [dist.new_group([f * n_tp + t for f in range(n_fsdp)]) for t in range(n_tp)]
    f, t = divmod(dist.get_rank(), n_tp)
    return tp[f], fsdp[t]


@torch.no_grad()
def solution(
    x_local: torch.Tensor,
    W1_shard: torch.Tensor,
    W2_shard: torch.Tensor,
    W3_shard: torch.Tensor,
    n_tp: int,
    n_fsdp: int,
) -> torch.Tensor:
    """The gated MLP of this rank's rows: (silu(x W1) * (x W2)) W3, summed over the TP group."""
    tp, fsdp = _groups(n_tp, n_fsdp)
    W1, W2 = (all_gather_along(shard, 0, fsdp) for shard in (W1_shard, W2_shard))  # (D, D_ff / n_tp)
    W3 = all_gather_along(W3_shard, 1, fsdp)  # (D_ff / n_tp, D)
    y = (F.silu(x_local @ W1) * (x_local @ W2)) @ W3
    dist.all_reduce(y, group=tp)
    return y
