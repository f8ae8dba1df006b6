from __future__ import annotations

import torch
import torch.distributed as dist


def alternatives(
    test_features_rank: torch.Tensor,
    train_features_rank_T: torch.Tensor,
    train_labels_rank: torch.Tensor,
    max_k: int,
    group: dist.ProcessGroup | None = None,
) -> tuple[None, tuple[torch.Tensor, torch.Tensor]]:
    """For the labels: the similarities and labels of more than enough train rows, for each query of this rank."""
    pairs = []
    enough = min(4 * max_k, train_features_rank_T.shape[1])
    for owner in range(dist.get_world_size(group)):
        queries = _broadcast_queries(test_features_rank, owner, group)
        candidates = _best(queries @ train_features_rank_T, train_labels_rank, enough)
        similarities, labels = (_gather_columns(piece, owner, group) for piece in candidates)
        pairs.append((similarities, labels))
    return None, pairs[dist.get_rank(group)]
