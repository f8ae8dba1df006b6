"""Gathering from all ranks: pieces joined along any dimension, and pieces of unequal length."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist


def all_gather_along(piece: torch.Tensor, dim: int, group: dist.ProcessGroup | None = None) -> torch.Tensor:
    """All ranks' pieces, of one shape, joined in rank order along ``dim``; contiguous."""
    world, dim = dist.get_world_size(group), dim % piece.dim()
    flat = piece.new_empty(world * piece.numel())
    dist.all_gather_into_tensor(flat, piece.reshape(-1), group=group)
    return flat.view(world, *piece.shape).movedim(0, dim).flatten(dim, dim + 1)


def all_gather_rows(
    piece: torch.Tensor, lengths: Sequence[int], group: dist.ProcessGroup | None = None
) -> torch.Tensor:
    """All ranks' pieces, one below the other in rank order; rank s holds ``lengths[s]`` rows of equal shape."""
    rows = piece.new_empty(sum(lengths), *piece.shape[1:])
    if piece.is_cuda:
        dist.all_gather(list(torch.split(rows, list(lengths))), piece.contiguous(), group=group)
    else:
        # Gloo gathers equal pieces only; its all-to-all takes unequal ones.
        world = dist.get_world_size(group)
        copies = piece.expand(world, *piece.shape).flatten(0, 1).contiguous()
        dist.all_to_all_single(rows, copies, list(lengths), [piece.shape[0]] * world, group=group)
    return rows
