from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.heads import redistribute
from problems.common.sampling import FLOAT32_SLACK, doubtful_filter, own_share, whole_rows


def alternatives(
    vocab_parallel_logits: torch.Tensor,
    target: torch.Tensor,
    grad_output: torch.Tensor,
    tp_group: dist.ProcessGroup | None,
    top_k: int,
    top_p: float,
    chunk_size: int,
) -> tuple[tuple[torch.Tensor, torch.Tensor]]:
    """Entries near the top-p cut may be kept or dropped; a dropped one has no gradient."""
    rows = whole_rows(vocab_parallel_logits.flatten(0, 1), tp_group)
    targets, weights = (own_share(x.reshape(-1), tp_group).unsqueeze(1) for x in (target, grad_output))
    sure, possible, fewest, most = doubtful_filter(rows, top_k, top_p)
    wanted = torch.zeros_like(sure).scatter_(1, targets, True)
    # (onehot - p): lowest where the entry counts little as a target and much in the softmax
    lowest = (wanted & sure).double() - (rows.double() - fewest).exp() * possible
    highest = (wanted & possible).double() - (rows.double() - most).exp() * sure
    ends = [weights.double() * end for end in (lowest - FLOAT32_SLACK, highest + FLOAT32_SLACK)]
    low, high = (redistribute(pick(*ends).float(), 1, 0, tp_group) for pick in (torch.minimum, torch.maximum))
    return ((low.view(vocab_parallel_logits.shape), high.view(vocab_parallel_logits.shape)),)
