"""Policy loss and metrics over all ranks' valid tokens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """Loss, None, this rank's log-probabilities and losses, metrics."""
    found = [_tokens(*arguments) for arguments in everybody]
    valid = [labels != ignored for _, _, labels, _, _, ignored in everybody]
    new, delta, ratio, loss = (
        torch.cat([one[i][kept] for one, kept in zip(found, valid, strict=True)]) for i in range(4)
    )
    metrics = [ratio.mean(), ratio.min(), ratio.max(), (ratio - delta - 1).mean(), -new.mean()]
    new_here, _, _, loss_here = (value * valid[rank] for value in found[rank])
    return loss.mean(), None, new_here, loss_here, torch.stack(metrics)


def _tokens(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    labels: torch.Tensor,
    old: torch.Tensor,
    advantages: torch.Tensor,
    ignored: int,
) -> tuple[torch.Tensor, ...]:
    """New log-probability, delta, ratio and loss of every token, valid or not."""
    # Rounded as the algorithm says: the ratio is an exponential of these.
    logits = (hidden.double() @ weight.double().T).to(hidden.dtype).double()
    chosen = logits.log_softmax(1).gather(1, labels.clamp(min=0).unsqueeze(1)).squeeze(1)
    new = chosen.to(hidden.dtype).double()
    delta = (new - old.double()).clamp(-20, 20)
    return new, delta, delta.exp(), -delta.exp() * advantages.double()
