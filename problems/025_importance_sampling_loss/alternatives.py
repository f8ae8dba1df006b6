from __future__ import annotations

import torch
import torch.distributed as dist
import torch.nn.functional as F

Bounds = tuple[torch.Tensor, torch.Tensor]
_PRECISION = {torch.bfloat16: 2.0**-8, torch.float32: 2.0**-19}


def _loss_room(losses: torch.Tensor, off: torch.Tensor, precision: float, count: torch.Tensor) -> torch.Tensor:
    """What roundings of the tokens' log-probabilities make of the loss, and those of the sum itself."""
    sums = torch.stack(((losses * off).square().sum(), losses.abs().sum()))
    dist.all_reduce(sums)
    return (2 * sums[0].sqrt() + 4 * precision * sums[1]) / count


def alternatives(
    hidden_states: torch.Tensor,
    weight: torch.Tensor,
    labels: torch.Tensor,
    old_logprobs: torch.Tensor,
    advantages: torch.Tensor,
    ignore_index: int = -100,
) -> tuple[Bounds, None, None, Bounds, Bounds]:
    """Bounds of loss, tokens' losses and metrics, when log-probabilities are off by roundings of logits and results."""
    precision = _PRECISION[hidden_states.dtype]
    logits = F.linear(hidden_states, weight).flatten(0, -2)
    ce = _cross_entropy(logits, labels, ignore_index).float()
    valid = labels.flatten() != ignore_index
    count = _reduced(valid.sum().float()).clamp(min=1)

    delta = (-ce - old_logprobs.flatten().float()).masked_fill(~valid, 0)
    peak = torch.maximum(logits.amax(dim=1), -logits.amin(dim=1)).float()
    off = precision * (2 * peak + ce.abs() + delta.abs())
    gain = advantages.flatten().float().masked_fill(~valid, 0)
    shifted = [(delta + shift).clamp(-20, 20) for shift in (-off, off)]
    losses = [(-gain * shift.exp()).view(labels.shape) for shift in shifted]
    metrics = [_metrics(shift.exp(), shift, ce, valid, count) for shift in shifted]

    middle = -gain * delta.clamp(-20, 20).exp()
    loss, room = _reduced(middle.sum()) / count, _loss_room(middle, off, precision, count)
    ends = [(torch.minimum(*pair), torch.maximum(*pair)) for pair in (losses, metrics)]
    return (loss - room, loss + room), None, None, *ends
