from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

import torch
import torch.distributed as dist

from problems.common.exchange import exchange_counts, exchange_rows


def _ranges(starts: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
    """start, start+1, ... for every pair of a start and a size, one after the other."""
    before = sizes.cumsum(0) - sizes
    total = int(sizes.sum())
    offsets = torch.arange(total, device=sizes.device)
    return torch.repeat_interleave(starts - before, sizes, output_size=total) + offsets


def _sums(x: torch.Tensor, sizes: torch.Tensor) -> torch.Tensor:
    """The sum of each of the segments that make up a vector."""
    total = torch.cat((x.new_zeros(1), x.cumsum(0)))
    ends = sizes.cumsum(0)
    return total[ends] - total[ends - sizes]


def _permuted(x: torch.Tensor, sizes: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
    """The segments of a vector in another order."""
    starts = sizes.cumsum(0) - sizes
    return x[_ranges(starts[order], sizes[order])]


def _per_rank(strides: Sequence[int], key_splits: Sequence[int]) -> list[int]:
    """The sum of the strides of each rank's features."""
    rest = iter(strides)
    return [sum(islice(rest, features)) for features in key_splits]


def _exchange_splits(
    lengths: torch.Tensor, counts: Sequence[int], last: Sequence[int], weighted: bool, pg: dist.ProcessGroup | None
) -> tuple[list[list[int]], list[list[int]]]:
    """What this rank sends to each rank and gets from it: columns of numbers of lengths, of values, and ``last``."""
    sizes = torch.tensor([counts, last], device=lengths.device)
    values = _sums(lengths, sizes[0])
    table = torch.stack((sizes[0], values, *([values] if weighted else []), sizes[1]), dim=1)
    arrived = exchange_counts(table, pg)
    sent, received = torch.stack((table.t(), arrived.t())).tolist()
    return sent, received


def _rank_order(world: int, stagger: int, device: torch.device) -> torch.Tensor:
    """The order of the source ranks within a feature; 0 .. P-1 without a stagger."""
    return torch.arange(stagger * (world // stagger), device=device).view(stagger, -1).t().reshape(-1)


@torch.no_grad()
def solution(
    lengths: torch.Tensor,
    values: torch.Tensor,
    key_splits: Sequence[int],
    batch_size: int,
    pg: dist.ProcessGroup | None = None,
    weights: torch.Tensor | None = None,
    stride_per_key: Sequence[int] | None = None,
    stagger: int = 1,
) -> dict[str, torch.Tensor]:
    """The ids of this rank's features for the whole world's batch, feature by feature, source by source."""
    world, features = dist.get_world_size(pg), key_splits[dist.get_rank(pg)]
    counts = _per_rank(stride_per_key or [batch_size] * sum(key_splits), key_splits)
    last = [batch_size] * world if stride_per_key is None else key_splits
    sent, received = _exchange_splits(lengths, counts, last, weights is not None, pg)

    arrived = exchange_rows(lengths, sent[0], received[0], pg)
    ids = exchange_rows(values, sent[1], received[1], pg)
    stride_per_rank = torch.tensor(received[-1], device=lengths.device)
    strides = stride_per_rank.repeat_interleave(features)  # of each (source, feature), as lengths arrive
    if stride_per_key is not None:
        own = torch.tensor(stride_per_key, device=lengths.device)
        strides = exchange_rows(own, key_splits, [features] * world, pg)

    # (source, feature) -> (feature, source): whole segments move, those of the ids as their lengths add up
    sources = _rank_order(world, stagger, lengths.device)
    order = (sources * features + torch.arange(features, device=lengths.device).unsqueeze(1)).reshape(-1)
    per_segment = _sums(arrived, strides)
    result = {"lengths": _permuted(arrived, strides, order), "values": _permuted(ids, per_segment, order)}
    if stride_per_key is None:
        result |= {"stride": stride_per_rank.sum(), "stride_per_rank": stride_per_rank}
    else:
        result["stride_per_key_per_rank"] = strides[order].view(features, sources.numel())
    if weights is not None:
        result["weights"] = _permuted(exchange_rows(weights, sent[2], received[2], pg), per_segment, order)
    return result
