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
    lora_gate_A: torch.Tensor,
    lora_gate_B: torch.Tensor,
    lora_up_A: torch.Tensor,
    lora_up_B: torch.Tensor,
    lora_down_A: torch.Tensor,
    lora_down_B: torch.Tensor,
    num_experts: int,
    top_k: int,
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """The mixture's output (tokens, N) for this rank's tokens."""
    tokens = hidden_states.reshape(-1, hidden_states.shape[-1])
    weights, experts = route(tokens, gate_weight, gate_bias, top_k)

    def mlp(rows: torch.Tensor) -> torch.Tensor:
        gate = gate_proj(rows) + rows @ lora_gate_A.T @ lora_gate_B.T
        up = up_proj(rows) + rows @ lora_up_A.T @ lora_up_B.T
        inner = F.silu(gate) * up
        result: torch.Tensor = down_proj(inner) + inner @ lora_down_A.T @ lora_down_B.T
        return result

    return through_experts(tokens, weights, experts, num_experts, mlp, group)
