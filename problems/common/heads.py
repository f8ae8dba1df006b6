"""The exchange behind Ulysses attention: one axis is gathered over the ranks while another is scattered."""

from __future__ import annotations

import torch
import torch.distributed as dist


def redistribute(
    x: torch.Tensor, scatter_dim: int, gather_dim: int, group: dist.ProcessGroup | None = None
) -> torch.Tensor:
    """Cut ``x`` into P equal parts along ``scatter_dim``, send part d to rank d, join what comes along ``gather_dim``.

    Both axes are counted from 0. With (batch, sequence, heads, width): (2, 1) turns a slice of the sequence with all
    heads into the whole sequence with a share of the heads, (1, 2) turns that back. The result is contiguous.
    """
    # (.., scatter, ..) -> (P, .., scatter / P, ..): one buffer, part d in front of the others at place d
    parts = x.unflatten(scatter_dim, (dist.get_world_size(group), -1)).movedim(scatter_dim, 0).contiguous()
    received = torch.empty_like(parts)
    dist.all_to_all_single(received, parts, group=group)
    # (P, .., gather, ..) -> (.., P * gather, ..): sources in rank order
    return received.movedim(0, gather_dim).flatten(gather_dim, gather_dim + 1)
