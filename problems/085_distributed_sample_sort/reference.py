from __future__ import annotations

import math

import torch
import torch.distributed as dist

from problems.common.exchange import exchange_counts, exchange_rows
from problems.common.gathers import all_gather_along


def _send(values: torch.Tensor, counts: torch.Tensor, group: dist.ProcessGroup | None) -> torch.Tensor:
    """Values to every rank in turn, ``counts[r]`` of them to rank r; what came from the others, in rank order."""
    sent, received = torch.stack((counts, exchange_counts(counts, group))).tolist()
    return exchange_rows(values, sent, received, group)


def _samples(shard: torch.Tensor, number: int, active: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """``active`` regular samples of a sorted shard: value, number of its rank, position; padded with (inf, -1, -1)."""
    length = shard.numel()
    i = torch.arange(active, device=shard.device)
    position = (i + 1) * length // active - 1 if active < length else i
    real = (position < length) & (number >= 0)
    position = torch.where(real, position, -1)
    value = torch.full((active,), math.inf, dtype=shard.dtype, device=shard.device)
    value[real] = shard[position[real]]
    return value, torch.where(real, number, -1), position


def _splitters(
    samples: tuple[torch.Tensor, torch.Tensor, torch.Tensor], active: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """active - 1 of all ranks' samples at equal distances, in the order of (value, rank number, position)."""
    value, number, position = (column[samples[1] >= 0] for column in samples)
    order = torch.arange(value.numel(), device=value.device)
    for key in (position, number, value):
        order = order[key[order].argsort(stable=True)]
    last = order.numel() - 1
    place = (torch.arange(1, active, device=value.device) * order.numel() // active - 1).clamp(0, last)
    chosen = order[place]
    return value[chosen], number[chosen], position[chosen]


def _buckets(
    shard: torch.Tensor, number: int, splitters: tuple[torch.Tensor, torch.Tensor, torch.Tensor]
) -> torch.Tensor:
    """How many of a sorted shard's values go to each active rank, (active,)."""
    value, owner, position = splitters
    below, upto = (torch.searchsorted(shard, value, right=right) for right in (False, True))
    border = torch.where(owner < number, below, torch.where(owner > number, upto, position + 1))
    border = torch.cummax(border, dim=0).values if border.numel() else border
    ends = border.new_tensor([0]), border.new_tensor([shard.numel()])
    return torch.cat((ends[0], border, ends[1])).diff()


def _balanced(start: int, end: int, total: int, world: int, device: torch.device) -> torch.Tensor:
    """How many of the places start .. end-1 of the world's order belong to each rank, (world,)."""
    rank = torch.arange(world + 1, device=device)
    first = rank * (total // world) + rank.clamp(max=total % world)
    return first.clamp(start, end).diff()


@torch.no_grad()
def solution(local_shard: torch.Tensor, group: dist.ProcessGroup | None = None) -> torch.Tensor:
    """This rank's part of the world's values in ascending order; lengths differ by one at most."""
    rank, world, device = dist.get_rank(group), dist.get_world_size(group), local_shard.device
    shard = local_shard.sort().values
    lengths = all_gather_along(torch.tensor([shard.numel()], device=device), 0, group).tolist()
    active = [r for r in range(world) if lengths[r]]
    if not active:
        return shard
    number = active.index(rank) if rank in active else -1
    value, owner, position = (all_gather_along(column, 0, group) for column in _samples(shard, number, len(active)))
    splitters = _splitters((value, owner, position), len(active))

    counts = torch.zeros(world, dtype=torch.int64, device=device)
    counts[active] = _buckets(shard, number, splitters)
    bucket = _send(shard, counts, group).sort().values
    sizes = all_gather_along(torch.tensor([bucket.numel()], device=device), 0, group).tolist()
    start = sum(sizes[:rank])
    return _send(bucket, _balanced(start, start + bucket.numel(), sum(sizes), world, device), group)
