from __future__ import annotations

import torch
import torch.distributed as dist

from problems.common.heads import redistribute
from problems.common.sampling import filtered, keep_mask, own_share, token_chunks, whole_rows


def _gradient(
    rows: torch.Tensor, target: torch.Tensor, grad_output: torch.Tensor, top_k: int | None, top_p: float | None
) -> torch.Tensor:
    """(onehot(target) - softmax) * grad_output of whole rows (tokens, V), 0 wherever a filter drops; float32."""
    kept = keep_mask(rows, top_k, top_p)
    gradient = -filtered(rows, kept).float().softmax(dim=-1)
    gradient.scatter_add_(1, target.unsqueeze(1), torch.ones_like(gradient[:, :1]))
    gradient *= grad_output.unsqueeze(1)
    return gradient if kept is None else gradient * kept


@torch.no_grad()
def solution(
    vocab_parallel_logits: torch.Tensor,
    target: torch.Tensor,
    grad_output: torch.Tensor,
    tp_group: dist.ProcessGroup | None = None,
    top_k: int | None = None,
    top_p: float | None = 1.0,
    chunk_size: int = 1,
) -> torch.Tensor:
    """The gradient (batch, sequence, V/P) of this rank's logits, float32."""
    logits = vocab_parallel_logits.flatten(0, 1)  # (T, V/P)
    targets, weights = target.reshape(-1), grad_output.reshape(-1)
    parts = []
    for chunk in token_chunks(logits.shape[0], target.shape[0] * max(1, chunk_size), tp_group):
        own_targets, own_weights = (own_share(x[chunk], tp_group) for x in (targets, weights))
        rows = whole_rows(logits[chunk], tp_group)  # (n/P, V)
        gradient = _gradient(rows, own_targets, own_weights, top_k, top_p)
        parts.append(redistribute(gradient, 1, 0, tp_group))  # (n, V/P)
    return torch.cat(parts).view(vocab_parallel_logits.shape)
