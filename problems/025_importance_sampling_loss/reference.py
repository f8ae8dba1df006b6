from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F


def _reduced(local: torch.Tensor, op: dist.ReduceOp.RedOpType = dist.ReduceOp.SUM) -> torch.Tensor:
    """A scalar, reduced over all ranks."""
    total = local.detach().clone()
    dist.all_reduce(total, op=op)
    return total


def _cross_entropy(logits: torch.Tensor, labels: torch.Tensor, ignore_index: int) -> torch.Tensor:
    """The cross entropy of every token, (tokens,); 0 where it is ignored."""
    return F.cross_entropy(logits, labels.flatten(), reduction="none", ignore_index=ignore_index)


def _metrics(
    ratio: torch.Tensor, delta: torch.Tensor, ce: torch.Tensor, valid: torch.Tensor, count: torch.Tensor
) -> torch.Tensor:
    """Mean, least and largest ratio, mean of ratio - delta - 1, mean cross entropy; over all ranks' valid tokens."""
    infinity = float("inf")
    mean = _reduced(ratio.masked_fill(~valid, 0).sum()) / count
    least = _reduced(ratio.masked_fill(~valid, infinity).amin(), dist.ReduceOp.MIN)
    largest = _reduced(ratio.masked_fill(~valid, -infinity).amax(), dist.ReduceOp.MAX)
    divergence = _reduced((ratio - delta - 1).masked_fill(~valid, 0).sum()) / count
    entropy = _reduced(ce.masked_fill(~valid, 0).sum()) / count
    return torch.stack([value.float() for value in (mean, least, largest, divergence, entropy)])


def solution(
    hidden_states: torch.Tensor,
    weight: torch.Tensor,
    labels: torch.Tensor,
    old_logprobs: torch.Tensor,
    advantages: torch.Tensor,
    ignore_index: int = -100,
) -> tuple[torch.Tensor, None, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The loss, None, log-probability and loss of each token (like labels), and the five metrics."""
    logits = F.linear(hidden_states, weight).flatten(0, -2)  # (tokens, V)
    ce = _cross_entropy(logits, labels, ignore_index)
    valid = labels.flatten() != ignore_index
    count = _reduced(valid.sum().float()).clamp(min=1)

    new_logprobs = -ce.detach()
    delta = (new_logprobs - old_logprobs.flatten()).masked_fill(~valid, 0).clamp(-20, 20)
    ratio = delta.exp()
    gain = (ratio * advantages.flatten()).masked_fill(~valid, 0)
    true_pg = _reduced(-gain.sum()) / count
    # Its value is true_pg, its gradient that of the surrogate.
    surrogate = (gain * ce).sum() / count
    loss = true_pg + surrogate - surrogate.detach()

    metrics = _metrics(ratio, delta, ce.detach(), valid, count)
    return loss, None, new_logprobs.view(labels.shape), -gain.view(labels.shape), metrics
