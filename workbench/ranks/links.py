"""A rank that measures its links: sends and receives, an all-reduce, copies out of memory that CPU ranks share."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist

from workbench.ranks.candidate import RankPlace
from workbench.ranks.channel import Channel, Message
from workbench.ranks.device import init_group, make_device
from workbench.ranks.shared import Region
from workbench.ranks.timing import Timer
from workbench.ranks.transfer import POISON, answer, mechanism, pattern

_WARM_UP = 2
_PAIR = 2
"""Ranks of a set in which single messages go from one to the other: a third would only keep a core busy."""


class LinkRank:
    """Measures what it is asked for together with the other ranks of its set; single messages in sets of two alone.

    One way, rank 0 sends and rank 1 receives. ``own`` is memory that the other rank of the pair reads as ``peer``.
    """

    def __init__(self, place: RankPlace, control: Channel, own: Region, peer: Region) -> None:
        self._place = place
        self._control = control
        self._own, self._peer = own, peer
        self._device = make_device(place.device)

    def main(self) -> None:
        """Join the group, then serve until the parent is gone."""
        place = self._place
        self._device.set_up(place.gpu, place.threads)
        init_group(self._device, place.rank, place.world, place.store)
        self._timer = Timer(self._device, place.slots, place.rank)
        dist.all_reduce(torch.zeros(1, device=self._device.tensor_device))
        backend = self._device.backend
        self._measures: dict[str, Callable[[int, bool], Measure]] = {f"{backend} all_reduce": self._all_reduce}
        if place.world == _PAIR:
            self._measures[f"{backend} send/recv"] = self._send_receive
            if place.device == "cpu":
                self._measures["shared memory"] = self._shared_memory
        self._control.send({"event": "ready", "torch": torch.__version__})
        answer(self._control, {"mechanisms": self._mechanisms, "measure": self._measure})

    def _mechanisms(self, _message: Message) -> Message:
        found = []
        for name in self._measures:
            collective = name.endswith("all_reduce")
            found.append(mechanism(name, two_way=not collective, collective=collective))
        return {"mechanisms": found, "left_out": {}}

    def _measure(self, message: Message) -> Message:
        """ns of each timed call and whether the data are right; a call is ``inner`` messages, one after another."""
        move, check = self._measures[message["mechanism"]](message["bytes"] // 4, message["two_way"])
        inner = range(message["inner"])

        def moves() -> None:
            for _ in inner:
                move()

        for _ in range(_WARM_UP):
            self._timer.time(moves, ())
        times = [self._timer.time(moves, ())[1].ns for _ in range(message["calls"])]
        self._device.synchronize()
        return {"ns": times, "verified": check()}

    def _send_receive(self, count: int, two_way: bool) -> Measure:
        rank = self._place.rank
        other = 1 - rank
        source, target = self._pattern(count, rank), self._poisoned(count)
        sends, receives = rank == 0 or two_way, rank == 1 or two_way
        operations = [dist.P2POp(dist.isend, source, other)] * sends
        operations += [dist.P2POp(dist.irecv, target, other)] * receives

        def move() -> None:
            for work in dist.batch_isend_irecv(operations):
                work.wait()

        return move, lambda: not receives or torch.equal(target, self._pattern(count, other))

    def _all_reduce(self, count: int, _two_way: bool) -> Measure:
        target = torch.zeros(count, dtype=torch.int32, device=self._device.tensor_device)

        def check() -> bool:
            target.copy_(self._pattern(count, self._place.rank))
            dist.all_reduce(target)
            for rank in range(self._place.world):
                target.sub_(self._pattern(count, rank))
            return not bool(target.any())

        return lambda: dist.all_reduce(target), check

    def _shared_memory(self, count: int, two_way: bool) -> Measure:
        rank = self._place.rank
        pattern(count, rank, out=_view(self._own, count))
        if rank == 0 and not two_way:
            return lambda: None, lambda: True
        source, target = _view(self._peer, count), self._poisoned(count)
        return lambda: target.copy_(source), lambda: torch.equal(target, self._pattern(count, 1 - rank))

    def _pattern(self, count: int, rank: int) -> torch.Tensor:
        return pattern(count, rank, self._device.tensor_device)

    def _poisoned(self, count: int) -> torch.Tensor:
        return torch.full((count,), POISON, dtype=torch.int32, device=self._device.tensor_device)


Measure = tuple[Callable[[], object], Callable[[], bool]]
"""What moves one message, and what says afterwards whether the right data are there."""


def _view(region: Region, count: int) -> torch.Tensor:
    return torch.frombuffer(region.ensure(4 * count), dtype=torch.int32, count=count)
