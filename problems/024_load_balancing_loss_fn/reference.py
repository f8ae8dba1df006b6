from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
import torch.nn.functional as F


def _mean_over_tokens(values: torch.Tensor, weight: torch.Tensor | None) -> torch.Tensor:
    """The mean over the first dimension, weighted where there are weights, one a token."""
    if weight is None:
        return values.mean(dim=0)
    weight = weight.view(-1, *(1,) * (values.dim() - 1))
    return (values * weight).sum(dim=0) / weight.sum(dim=0)


@torch.no_grad()
def solution(
    gate_logits: torch.Tensor | Sequence[torch.Tensor],
    num_experts: int,
    top_k: int = 2,
    attention_mask: torch.Tensor | None = None,
) -> torch.Tensor:
    """The mean over ranks of their load-balancing losses, a float32 scalar."""
    logits = gate_logits if isinstance(gate_logits, torch.Tensor) else torch.cat(tuple(gate_logits))  # (T, E)
    weight = None if attention_mask is None else attention_mask.reshape(-1)
    if weight is not None:
        weight = weight.repeat(logits.shape[0] // weight.numel())  # (T,)

    probabilities = logits.softmax(dim=-1)
    chosen = probabilities.topk(top_k, dim=-1).indices
    share = _mean_over_tokens(F.one_hot(chosen, num_experts).float(), weight)  # (K, E)
    loss = num_experts * (share * _mean_over_tokens(probabilities, weight)).sum()
    dist.all_reduce(loss)
    return loss / dist.get_world_size()
