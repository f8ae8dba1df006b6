"""Tensors that travel round a ring of ranks by send and receive, in one direction or in both at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
import torch.distributed as dist


def place_on_ring(offset: int, group: dist.ProcessGroup | None = None) -> int:
    """The global rank that sits ``offset`` places after this one."""
    place = (dist.get_rank(group) + offset) % dist.get_world_size(group)
    return place if group is None else dist.get_global_rank(group, place)


def start_shift(
    tensors: Sequence[torch.Tensor], offsets: Sequence[int], group: dist.ProcessGroup | None = None
) -> tuple[list[torch.Tensor], list[dist.Work]]:
    """Start sending ``tensors[i]`` to the rank ``offsets[i]`` places on, and receiving its twin from as far back.

    Returns the receive buffers, filled once all of the works are waited for. Tensors must be contiguous.
    """
    received = [torch.empty_like(tensor) for tensor in tensors]
    both = []
    for sent, arriving, offset in zip(tensors, received, offsets):
        both.append(dist.P2POp(dist.isend, sent, place_on_ring(offset, group), group))
        both.append(dist.P2POp(dist.irecv, arriving, place_on_ring(-offset, group), group))
    return received, dist.batch_isend_irecv(both)


def wait_for(works: Sequence[dist.Work]) -> None:
    """Wait until every transfer is done."""
    for work in works:
        work.wait()


def ring(held: torch.Tensor, group: dist.ProcessGroup | None = None) -> Iterator[torch.Tensor]:
    """What this rank holds at step s = 0 .. P-1 while everybody's ``held`` moves on by one rank a step.

    At step s that is the tensor of rank (r - s) mod P. The next one arrives while the caller works on this one.
    """
    world = dist.get_world_size(group)
    for step in range(world):
        works: list[dist.Work] = []
        arriving = held
        if step < world - 1:
            (arriving,), works = start_shift([held], [1], group)
        yield held
        wait_for(works)
        held = arriving
