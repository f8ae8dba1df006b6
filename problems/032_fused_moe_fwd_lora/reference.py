from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from problems.common.moe import route, through_experts


@torch.no_grad()
def solution(
    hidden_states: Tensor,
    gate_weight: Tensor,
    gate_bias: Tensor | None,
    gate_proj: nn.Linear,
    up_proj: nn.Linear,
    down_proj: nn.Linear,
    lora_gate_A: Tensor,
    lora_gate_B: Tensor,
    lora_up_A: Tensor,
    lora_up_B: Tensor,
    lora_down_A: Tensor,
    lora_down_B: Tensor,
    num_experts: int,
    top_k: int,
    group: dist.ProcessGroup | None = None,
) -> Tensor:
    """The mixture's output (tokens, N) for this rank's tokens."""
    tokens = hidden_states.reshape(-1, hidden_states.shape[-1])
    weights, experts = route(tokens, gate_weight, gate_bias, top_k)

    def mlp(rows: Tensor) -> Tensor:
        gate = gate_proj(rows) + rows @ lora_gate_A.T @ lora_gate_B.T
        up = up_proj(rows) + rows @ lora_up_A.T @ lora_up_B.T
        inner = F.silu(gate) * up
        result: Tensor = down_proj(inner) + inner @ lora_down_A.T @ lora_down_B.T
        return result

    return through_experts(tokens, weights, experts, num_experts, mlp, group)
