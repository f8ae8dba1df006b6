from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor

from problems.common.delta import gated_delta_rule, unit
from problems.common.heads import redistribute


@torch.no_grad()
def solution(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    gate: Tensor,
    beta: Tensor,
    a_log: Tensor,
    dt_bias: Tensor,
    group: dist.ProcessGroup | None = None,
) -> Tensor:
    """This rank's piece of the output with all heads, (B, L, H, Dv)."""
    dtype, width = q.dtype, q.shape[-1]
    # (B, L, H, d) -> (B, P*L, H/P, d)
    q, k, v, gate, beta = (redistribute(x, 2, 1, group) for x in (q, k, v, gate.unsqueeze(-1), beta.unsqueeze(-1)))
    repeats = v.shape[2] // q.shape[2]
    queries = unit(q.float(), 1e-6).repeat_interleave(repeats, dim=2) * width**-0.5
    keys = unit(k.float(), 1e-6).repeat_interleave(repeats, dim=2)
    rate = -a_log.float().exp()  # (H/P,)
    decay = torch.exp(rate * F.softplus(gate.float().squeeze(-1) + dt_bias.float()))
    out = gated_delta_rule(queries, keys, v.float(), decay.unsqueeze(-1), beta.float().squeeze(-1))
    return redistribute(out.to(dtype), 1, 2, group)
