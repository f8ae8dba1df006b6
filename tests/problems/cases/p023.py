"""Loss per token of all ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

INAPPLICABLE: Mapping[str, str] = {"float16": "a single number can be close to one that float16 has"}


def expected(everybody: Sequence[Sequence[Any]], rank: int) -> Any:
    """Normalised loss, sum, and the gradient of this rank's loss by autograd."""
    tokens = [int(arguments[1]) for arguments in everybody]
    # Without tokens any finite loss counts the same.
    finite = [loss.double() if count else torch.zeros(()).double() for (loss, *_), count in zip(everybody, tokens)]
    losses = [loss.requires_grad_() for loss in finite]
    total = torch.stack([loss * count for loss, count in zip(losses, tokens, strict=True)]).sum()
    normalized = total / int(everybody[rank][2])
    upstream = [gradient.double() for gradient in everybody[rank][3:5]]
    (gradient,) = torch.autograd.grad((normalized, total), losses[rank], upstream)
    return normalized.detach(), total.detach(), gradient
