from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.sampling import token_chunks, token_log_probs


@torch.no_grad()
def solution(
    vocab_parallel_logits: torch.Tensor,
    target: torch.Tensor,
    tp_group: dist.ProcessGroup | None = None,
    top_k: int | None = None,
    top_p: float | None = 1.0,
) -> torch.Tensor:
    """Log-probability (batch, sequence) of every target under top-k and top-p, float32."""
    logits = vocab_parallel_logits.flatten(0, 1)  # (T, V/P)
    (everything,) = token_chunks(logits.shape[0], logits.shape[0], tp_group)
    return token_log_probs(logits[everything], target.reshape(-1), top_k, top_p, tp_group).view(target.shape)
