from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.moe import swiglu_experts


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
    return swiglu_experts(tokens, gate_weight, gate_bias, gate_proj, up_proj, down_proj, num_experts, top_k, group)
