from __future__ import annotations

import torch
import torch.distributed as dist


def alternatives(
    test_features_rank: torch.Tensor,
    train_features_rank_T: torch.Tensor,
    train_labels_rank: torch.Tensor,
    max_k: int,
    group: dist.ProcessGroup | None = None,
) -> tuple[None, Ranking]:  # noqa: F821
    """For the labels: every train row's similarity and label, for each query of this rank."""
    every = None
    for owner in range(dist.get_world_size(group)):
        queries = _broadcast_queries(test_features_rank, owner, group)  # noqa: F821
        similarities = queries @ train_features_rank_T
        labels = train_labels_rank.expand_as(similarities).contiguous()
        pairs = tuple(_gather_columns(piece, owner, group) for piece in (similarities, labels))  # noqa: F821
        every = pairs if owner == dist.get_rank(group) else every
    return None, every
