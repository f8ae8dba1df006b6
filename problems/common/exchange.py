"""All-to-all of rows, as many to each rank as its sender says."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist


def exchange_rows(
    rows: torch.Tensor, sent: Sequence[int], received: Sequence[int], group: dist.ProcessGroup | None = None
) -> torch.Tensor:
    """The rows that other ranks sent here, in rank order; ``rows`` go out in rank order, ``sent[r]`` of them to rank r.

    ``received[r]`` rows (first dimension) come from rank r. Group None means all ranks.
    """
    arrived = rows.new_empty(sum(received), *rows.shape[1:])
    dist.all_to_all_single(arrived, rows.contiguous(), list(received), list(sent), group=group)
    return arrived


def exchange_relative(
    rows: torch.Tensor, sent: Sequence[int], received: Sequence[int], group: dist.ProcessGroup | None = None
) -> torch.Tensor:
    """As ``exchange_rows``, with blocks counted from this rank: block d is for, or comes from, the rank d places on."""
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    first = world - rank  # rank 0's block
    if not rows.is_cuda:
        # Gloo takes one buffer in the order of ranks.
        rows, back = rows.roll(-sum(sent[:first]), dims=0), sum(received[:first])
        sent, received = ([*sizes[first:], *sizes[:first]] for sizes in (sent, received))
        return exchange_rows(rows, sent, received, group).roll(back, dims=0)
    arrived = rows.new_empty(sum(received), *rows.shape[1:])
    ours, theirs = torch.split(rows, list(sent)), torch.split(arrived, list(received))
    places = [(other + first) % world for other in range(world)]
    dist.all_to_all([theirs[place] for place in places], [ours[place] for place in places], group=group)
    return arrived


def exchange_counts(counts: torch.Tensor, group: dist.ProcessGroup | None = None) -> torch.Tensor:
    """What each rank has for this one, in rank order; ``counts[r]`` is this rank's number (or row) for rank r."""
    arrived = torch.empty_like(counts)
    dist.all_to_all_single(arrived, counts.contiguous(), group=group)
    return arrived


def counts_of(places: torch.Tensor, size: int) -> torch.Tensor:
    """How often each of 0 .. size-1 occurs in ``places``; (size,), int64. The host does not wait for the device."""
    return places.new_zeros(size).scatter_add_(0, places, torch.ones_like(places))


def exchange_splits(owner: torch.Tensor, group: dist.ProcessGroup | None = None) -> tuple[list[int], list[int]]:
    """Rows to each rank and rows from each rank; ``owner`` holds the rank that each of this rank's rows goes to."""
    counts = counts_of(owner, dist.get_world_size(group))
    sent, received = torch.stack((counts, exchange_counts(counts, group))).tolist()
    return sent, received
