from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F

from problems.common.moe import route, through_experts


@torch.no_grad()
def solution(
    hidden_states: torch.Tensor,
    gate_weight: torch.Tensor,
    gate_bias: torch.Tensor | None,
    gate_proj: torch.nn.Linear,
    up_proj: torch.nn.Linear,
    down_proj: torch.nn.Linear,
    num_experts: int,
    top_k: int,
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """The mixture's output (tokens, N) for this rank's tokens."""
    tokens = hidden_states.reshape(-1, hidden_states.shape[-1])
    weights, experts = route(tokens, gate_weight, gate_bias, top_k)

    def mlp(rows: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = down_proj(F.silu(gate_proj(rows)) * up_proj(rows))
        return result

    return through_experts(tokens, weights, experts, num_experts, mlp, group)
