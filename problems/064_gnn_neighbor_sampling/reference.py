from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist

from problems.common.exchange import exchange_rows, exchange_splits


def _ranges(starts: torch.Tensor, lengths: torch.Tensor, total: int) -> torch.Tensor:
    """start, start+1, ... for every pair of a start and a length, one after the other, ``total`` numbers in all."""
    before = lengths.cumsum(0) - lengths
    repeated = torch.repeat_interleave(starts - before, lengths, output_size=total)
    return repeated + torch.arange(total, device=starts.device)


def _first_occurrences(values: torch.Tensor) -> torch.Tensor:
    """The distinct values in the order in which they first occur."""
    distinct, inverse = torch.unique(values, return_inverse=True)
    places = torch.arange(values.numel(), device=values.device)
    first = torch.full_like(distinct, values.numel()).scatter_reduce_(0, inverse, places, "amin")
    return values[first.sort().values]


def _sample(
    frontier: torch.Tensor,
    fanout: int,
    graph: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    group: dist.ProcessGroup | None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Ask the owners of the frontier: (neighbour, edge) rows in its order, and the count of each node."""
    pointer, column, owner_of = graph
    owner = owner_of[frontier]
    grouped = torch.argsort(owner, stable=True)
    asked, wanted = exchange_splits(owner, group)

    ids = exchange_rows(frontier[grouped], asked, wanted, group)
    degree = pointer[ids + 1] - pointer[ids]
    take = degree if fanout < 0 else degree.clamp(max=fanout)
    counts = exchange_rows(take, wanted, asked, group)
    # One copy to the host: the rows of picks to and from every rank.
    pieces = (*torch.split(take, wanted), *torch.split(counts, asked))
    totals = torch.stack([piece.sum() for piece in pieces]).tolist()
    sent, received = totals[: len(wanted)], totals[len(wanted) :]
    edge = _ranges(pointer[ids], take, sum(sent))
    picks = exchange_rows(torch.stack((column[edge], edge), dim=1), sent, received, group)

    place = torch.empty_like(grouped)
    place[grouped] = torch.arange(grouped.numel(), device=grouped.device)
    starts = counts.cumsum(0) - counts
    return picks[_ranges(starts[place], counts[place], len(picks))], counts[place]


@torch.no_grad()
def solution(
    seed_nodes: torch.Tensor,
    fanouts: Sequence[int],
    local_adj_row_ptr: torch.Tensor,
    local_adj_col: torch.Tensor,
    node_to_rank: torch.Tensor,
    group: dist.ProcessGroup | None = None,
    replace: bool = False,
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """The sampled nodes, and the sampled edges as positions of their ends in that list, with their ids."""
    node = frontier = seed_nodes.long()
    found, askers = [node.new_empty(0, 2)], [node.new_empty(0)]
    # A rank whose frontier is empty still answers the others.
    for fanout in fanouts:
        picks, counts = _sample(frontier, fanout, (local_adj_row_ptr, local_adj_col, node_to_rank), group)
        found.append(picks)
        askers.append(torch.repeat_interleave(frontier, counts, output_size=len(picks)))
        known = node.numel()
        node = _first_occurrences(torch.cat((node, picks[:, 0]))) if picks.numel() else node
        frontier = node[known:]
    edges, values = torch.cat(found), node.sort()
    row, col = (
        values.indices[torch.searchsorted(values.values, ends)]
        for ends in (edges[:, 0].contiguous(), torch.cat(askers))
    )
    return node, row, col, edges[:, 1].contiguous()
