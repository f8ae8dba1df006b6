from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist


def _exchange(
    values: torch.Tensor, sent: Sequence[int], received: Sequence[int], group: dist.ProcessGroup | None
) -> torch.Tensor:
    """Rows to every rank in turn, ``sent[r]`` of them to rank r; what the others sent here, in rank order."""
    arrived = values.new_empty(sum(received), *values.shape[1:])
    dist.all_to_all_single(arrived, values, list(received), list(sent), group=group)
    return arrived


def _ranges(starts: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """start, start+1, ... for every pair of a start and a length, one after the other."""
    before = lengths.cumsum(0) - lengths
    offsets = torch.arange(int(lengths.sum()), device=starts.device)
    return torch.repeat_interleave(starts - before, lengths) + offsets


def _totals(counts: torch.Tensor, lengths: Sequence[int]) -> list[int]:
    return [int(piece.sum()) for piece in torch.split(counts, list(lengths))]


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
    asked = torch.bincount(owner, minlength=dist.get_world_size(group))
    wanted = torch.empty_like(asked)
    dist.all_to_all_single(wanted, asked, group=group)
    out, back = asked.tolist(), wanted.tolist()

    ids = _exchange(frontier[grouped], out, back, group)
    degree = pointer[ids + 1] - pointer[ids]
    take = degree if fanout < 0 else degree.clamp(max=fanout)
    edge = _ranges(pointer[ids], take)
    counts = _exchange(take, back, out, group)
    picks = torch.stack((column[edge], edge), dim=1)
    picks = _exchange(picks, _totals(take, back), _totals(counts, out), group)

    place = torch.empty_like(grouped)
    place[grouped] = torch.arange(grouped.numel(), device=grouped.device)
    starts = counts.cumsum(0) - counts
    return picks[_ranges(starts[place], counts[place])], counts[place]


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
        askers.append(torch.repeat_interleave(frontier, counts))
        known = node.numel()
        node = _first_occurrences(torch.cat((node, picks[:, 0]))) if picks.numel() else node
        frontier = node[known:]
    edges, values = torch.cat(found), node.sort()
    row, col = (
        values.indices[torch.searchsorted(values.values, ends)]
        for ends in (edges[:, 0].contiguous(), torch.cat(askers))
    )
    return node, row, col, edges[:, 1].contiguous()
