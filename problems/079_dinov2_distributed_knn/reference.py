from __future__ import annotations

import torch
import torch.distributed as dist

Ranking = tuple[torch.Tensor, torch.Tensor]
"""Similarities, best first, and the labels of their rows, (Q, k) each."""


def _best(similarities: torch.Tensor, labels: torch.Tensor, max_k: int) -> Ranking:
    """The largest similarities of each row and their labels; ``labels`` is (1, columns) or (Q, columns)."""
    best = similarities.topk(max_k, dim=1, largest=True, sorted=True)
    return best.values, labels.expand(len(similarities), -1).gather(1, best.indices)


def _broadcast_queries(own: torch.Tensor, owner: int, group: dist.ProcessGroup | None) -> torch.Tensor:
    """The owner's queries; they may be more or fewer than this rank's."""
    mine = dist.get_rank(group) == owner
    shape = torch.tensor(own.shape, device=own.device)
    dist.broadcast(shape, owner, group=group)
    queries = own.contiguous() if mine else own.new_empty(*shape.tolist())
    dist.broadcast(queries, owner, group=group)
    return queries


def _gather_columns(piece: torch.Tensor, owner: int, group: dist.ProcessGroup | None) -> torch.Tensor:
    """All ranks' columns side by side on the owner; the piece itself elsewhere."""
    mine = dist.get_rank(group) == owner
    pieces = [torch.empty_like(piece) for _ in range(dist.get_world_size(group))] if mine else None
    dist.gather(piece, pieces, dst=owner, group=group)
    return torch.cat(pieces, dim=1) if pieces else piece


@torch.no_grad()
def solution(
    test_features_rank: torch.Tensor,
    train_features_rank_T: torch.Tensor,
    train_labels_rank: torch.Tensor,
    max_k: int,
    group: dist.ProcessGroup | None = None,
) -> Ranking:
    """The best similarities of this rank's queries over all shards, and their labels."""
    if max_k > train_features_rank_T.shape[1]:
        raise ValueError(f"a shard of {train_features_rank_T.shape[1]} rows has no {max_k} nearest neighbours")
    result: Ranking | None = None
    for owner in range(dist.get_world_size(group)):
        queries = _broadcast_queries(test_features_rank, owner, group)
        candidates = _best(queries @ train_features_rank_T, train_labels_rank, max_k)
        similarities, labels = (_gather_columns(piece.contiguous(), owner, group) for piece in candidates)
        if owner == dist.get_rank(group):
            result = _best(similarities, labels, max_k)
    assert result is not None
    return result
