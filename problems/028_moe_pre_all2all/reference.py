from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.exchange import exchange_rows
from problems.common.moe import regrouped


@torch.no_grad()
def solution(
    hidden_states: torch.Tensor,
    expert_mask: torch.Tensor,
    num_experts: int,
    input_splits: list[int],
    output_splits: list[int],
    num_global_tokens_per_local_expert: torch.Tensor,
    group: dist.ProcessGroup | None = None,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Size]:
    """The rows for this rank's experts, the routing map, the token of each row sent, and the shape of the argument."""
    tokens = hidden_states.reshape(-1, hidden_states.shape[-1])
    routing_map = expert_mask.sum(dim=1)  # (experts, tokens)
    mapping = routing_map.nonzero()[:, 1].contiguous()  # by expert, then by token
    if sum(input_splits) != mapping.numel():
        raise RuntimeError(f"the splits hold {sum(input_splits)} rows, the mask {mapping.numel()}")
    rows = tokens[mapping]
    if dist.get_world_size(group) > 1:
        rows = exchange_rows(rows, input_splits, output_splits, group)
    rows = regrouped(rows, num_global_tokens_per_local_expert.tolist())
    return rows, routing_map, mapping, hidden_states.shape
