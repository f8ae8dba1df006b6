from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.sampling import log_prob_bounds


def alternatives(
    vocab_parallel_logits: torch.Tensor,
    target: torch.Tensor,
    tp_group: dist.ProcessGroup | None,
    top_k: int,
    top_p: float,
) -> tuple[tuple[torch.Tensor, torch.Tensor]]:
    """Entries near the top-p cut may be kept or dropped, and the target may be one of them."""
    return (log_prob_bounds(vocab_parallel_logits, target, top_k, top_p, tp_group),)
