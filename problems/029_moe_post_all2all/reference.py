from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.exchange import exchange_rows
from problems.common.moe import regrouped, turned


@torch.no_grad()
def solution(
    expert_outputs: torch.Tensor,
    routing_weights: torch.Tensor,
    selected_experts: torch.Tensor,
    num_experts: int,
    input_splits: list[int],
    output_splits: list[int],
    num_global_tokens_per_local_expert: torch.Tensor,
    routing_map: torch.Tensor,
    local_input_permutation_mapping: torch.Tensor,
    org_hidden_states_shape: torch.Size,
    group: dist.ProcessGroup | None = None,
) -> torch.Tensor:
    """Each token's sum of its rows times their routing weights, in the shape of the tokens."""
    rows = regrouped(expert_outputs, turned(num_global_tokens_per_local_expert.tolist()))
    if dist.get_world_size(group) > 1:
        rows = exchange_rows(rows, output_splits, input_splits, group)
    table = routing_weights.new_zeros(routing_weights.shape[0], num_experts)  # (tokens, experts)
    table.scatter_add_(1, selected_experts, routing_weights)
    # Rows are by expert, then by token.
    expert = torch.repeat_interleave(routing_map.sum(dim=1), output_size=len(rows))
    weighted = rows * table[local_input_permutation_mapping, expert].unsqueeze(1)
    out = rows.new_zeros(org_hidden_states_shape)
    out.view(-1, rows.shape[1]).index_add_(0, local_input_permutation_mapping, weighted)
    return out
