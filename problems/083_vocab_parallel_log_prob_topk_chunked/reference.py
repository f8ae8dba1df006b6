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
    chunk_size: int = 1,
) -> torch.Tensor:
    """Log-probability (batch, sequence) of every target under top-k and top-p, float32, some tokens at a time."""
    logits, targets = vocab_parallel_logits.flatten(0, 1), target.reshape(-1)  # (T, V/P), (T,)
    chunks = token_chunks(logits.shape[0], target.shape[0] * max(1, chunk_size), tp_group)
    found = [token_log_probs(logits[chunk], targets[chunk], top_k, top_p, tp_group) for chunk in chunks]
    return torch.cat(found).view(target.shape)
