"""Process groups as arguments: the ranks that belong to one, and the group itself where ranks run."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import torch.distributed as dist


@dataclass(frozen=True)
class GroupOf:
    """A process group by the global ranks of its members, ascending."""

    ranks: tuple[int, ...]


def join(group: GroupOf) -> dist.ProcessGroup | None:
    """The process group of these ranks, made once; the world's own for all ranks. Its members call it together."""
    if len(group.ranks) == dist.get_world_size():
        return dist.group.WORLD
    return _joined(group.ranks)


@functools.cache
def _joined(ranks: tuple[int, ...]) -> dist.ProcessGroup:
    # Only the members take part, since a judge rank tells its own rank nothing about other ranks' groups.
    group: dist.ProcessGroup = dist.new_group(list(ranks), use_local_synchronization=True)
    return group
