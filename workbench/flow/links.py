"""Measures the links between ranks: which mechanisms, message sizes and block counts, and what comes of them."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from workbench.config import Settings
from workbench.errors import RanksError, UsageError
from workbench.flow.sets import JudgeSet
from workbench.flow.zygote import Zygote
from workbench.judge.bandwidth import algbw, busbw
from workbench.judge.links import LeftOut, LinkRate, LinkReport
from workbench.ranks.channel import Message
from workbench.ranks.shared import shared_fd
from workbench.topology.host import free_memory

SMALLEST = 2 << 10
LARGEST = {"cpu": 256 << 20, "cuda": 1 << 30}
"""Bytes of the largest message unless the user wants another."""
_CALLS = (3, 30)
_BYTES_OF_CALLS = {"cpu": 512 << 20, "cuda": 16 << 30}
_BYTES_OF_A_CALL = {"cpu": 0, "cuda": 8 << 20}
"""Small messages are sent so often in one call on a GPU that its events tell their time."""
_MOST_IN_A_CALL = 20
_COPIES = 4
"""Of a message with each CPU rank: what it sends, shares and receives, and what it compares that with."""
_STEP = 16
"""Messages are multiples of this many bytes."""


@dataclass(frozen=True, kw_only=True)
class Mechanism:
    """One way of moving data, as ranks describe it; ``blocks`` 0 where no kernel copies."""

    name: str
    blocks: int
    two_way: bool
    collective: bool


class LinkSet(JudgeSet):
    """Ranks that measure; every request goes to all and each answers."""

    who = "link"
    last_words = ""
    """The last line that a rank wrote to stderr."""

    async def start(self, request: Message, limit: float) -> None:
        """Fork the ranks, in role ``links`` each with its own and its partner's shared memory, and wait for them."""
        self.on_log = self._log
        regions = [shared_fd("link") for _ in range(self.world)] if request["role"] == "links" else []
        try:
            self.fork(request, lambda rank: [regions[rank], regions[int(rank == 0)]] if regions else [])
        finally:
            for fd in regions:
                os.close(fd)
        await self.wait_ready(limit)

    def _log(self, message: Message) -> None:
        lines = message["text"].strip().splitlines() if message["stream"] == "stderr" else []
        self.last_words = lines[-1].strip() if lines else self.last_words


def sizes(largest: int) -> list[int]:
    """Message sizes in bytes: four times the one before, up to and with the largest."""
    found = [SMALLEST]
    while found[-1] * 4 < largest:
        found.append(found[-1] * 4)
    return [*found, largest] if largest > found[-1] else found


async def measure_links(
    settings: Settings, device: str, largest: int = 0, tell: Callable[[str], None] = lambda text: None
) -> LinkReport:
    """Measure everything that this machine has; no process is left when it returns.

    ``largest`` is the largest message in bytes (0: the device's usual), ``tell`` hears what is being measured.
    UsageError for one rank, and for messages that do not fit; RanksError when nothing could be measured.
    """
    if settings.ranks.world < 2:
        raise UsageError("one rank has no link: use --ranks 2 or more")
    bench = _Bench(settings, device, _fitting(device, settings.ranks.world, largest), tell)
    try:
        await bench.zygote.start(settings.ranks.python, settings.limits.start)
        for role, world in _sets(device, settings.ranks.world):
            await bench.run(role, world)
    finally:
        await bench.zygote.close()
    return bench.report()


def _fitting(device: str, world: int, wanted: int) -> int:
    """The largest message in bytes: the wanted one, else the usual one, as far as memory goes."""
    usual, free = LARGEST[device], free_memory() if device == "cpu" else None
    most = usual if free is None else free // (_COPIES * world) // _STEP * _STEP
    if free is not None and wanted > most:
        what = f"messages of {wanted / 1e9:.3g} GB between {world} ranks do not fit into memory"
        raise UsageError(f"{what}, {free / 1e9:.3g} GB are free: give a --largest of at most {most >> 20}M")
    return wanted or min(usual, most)


def _sets(device: str, world: int) -> list[tuple[str, int]]:
    """Roles and numbers of processes: one that holds two GPUs; two ranks for single messages; all for collectives."""
    peers = [("peers", 1)] if device == "cuda" else []
    return [*peers, ("links", 2), *([("links", world)] if world > 2 else [])]


class _Bench:
    """One sitting of measurements."""

    def __init__(self, settings: Settings, device: str, largest: int, tell: Callable[[str], None]) -> None:
        self.zygote = Zygote()
        self._settings, self._device = settings, device
        self._sizes = sizes(largest)
        self._tell = tell
        self._rates: list[LinkRate] = []
        self._left_out: list[LeftOut] = []

    def report(self) -> LinkReport:
        """What was measured; RanksError where nothing was."""
        if not self._rates:
            raise RanksError("; ".join(f"{left.mechanism}: {left.why}" for left in self._left_out))
        return LinkReport(
            device=self._device,
            world=self._settings.ranks.world,
            torch=self.zygote.torch,
            measured=time.time(),
            rates=tuple(self._rates),
            left_out=tuple(self._left_out),
        )

    async def run(self, role: str, world: int) -> None:
        """Measure all that one kind of process can; what fails is left out, with its reason."""
        tried: list[str] = []
        while await self._sitting(role, world, tried):
            pass

    async def _sitting(self, role: str, world: int, tried: list[str]) -> bool:
        """Measure what was not tried yet, with one set of processes; whether a new set should go on after a failure."""
        ranks, before = LinkSet(self.zygote, world), len(tried)
        try:
            for mechanism in await self._start(ranks, role, first=not tried):
                if mechanism.name not in tried:
                    tried.append(mechanism.name)
                    await self._measure(ranks, mechanism)
        except RanksError as error:
            more = len(tried) > before
            why = f"{error} ({ranks.last_words})" if ranks.exits and ranks.last_words else str(error)
            self._left_out.append(LeftOut(mechanism=tried[-1] if more else _WHAT[role], why=why))
            return more
        finally:
            ranks.kill()
        return False

    async def _start(self, ranks: LinkSet, role: str, first: bool) -> list[Mechanism]:
        """What a new set is to measure: collectives among all ranks alone."""
        threads = self._settings.ranks.threads or max(1, (os.cpu_count() or 1) // ranks.world)
        request: Message = {"role": role, "world": ranks.world, "device": self._device}
        request |= {"shared_gpus": 0, "threads": threads, "pitch": False}
        await ranks.start(request, self._settings.limits.start)
        answer = (await ranks.all({"op": "mechanisms"}, self._settings.limits.start))[0]
        if first:
            self._left_out += [LeftOut(mechanism=name, why=why) for name, why in answer["left_out"].items()]
        found = [Mechanism(**mechanism) for mechanism in answer["mechanisms"]]
        return [one for one in found if not one.collective or ranks.world == self._settings.ranks.world]

    async def _measure(self, ranks: LinkSet, mechanism: Mechanism) -> None:
        self._tell(mechanism.name)
        for size, blocks, two_way in self._plan(mechanism):
            self._rates.append(await self._rate(ranks, mechanism, size, blocks, two_way))

    def _plan(self, mechanism: Mechanism) -> Iterator[tuple[int, int, bool]]:
        """Message size, blocks and whether both ways: all sizes with the usual blocks, then fewer blocks."""
        for size in self._sizes:
            for two_way in (False, True) if mechanism.two_way else (False,):
                yield size, mechanism.blocks, two_way
        for blocks in block_counts(mechanism.blocks):
            yield self._sizes[-1], blocks, False

    async def _rate(self, ranks: LinkSet, mechanism: Mechanism, size: int, blocks: int, two_way: bool) -> LinkRate:
        calls, inner = self._repeats(size)
        request = {"op": "measure", "mechanism": mechanism.name, "bytes": size, "blocks": blocks}
        request |= {"two_way": two_way, "calls": calls, "inner": inner}
        answers = await ranks.all(request, self._settings.limits.run)
        slowest = [max(call) / inner for call in zip(*(answer["ns"] for answer in answers))]
        seconds = statistics.median(slowest) / 1e9
        world = self._settings.ranks.world
        rate = busbw("all_reduce", size, seconds, world) if mechanism.collective else algbw(size, seconds)
        return LinkRate(
            mechanism=mechanism.name,
            bytes=size,
            blocks=blocks or None,
            two_way=two_way,
            us=seconds * 1e6,
            gbps=2 * rate if two_way else rate,
            calls=calls,
            verified=all(answer["verified"] for answer in answers),
        )

    def _repeats(self, size: int) -> tuple[int, int]:
        """Timed calls, and messages in each."""
        least, most = _CALLS
        calls = min(most, max(least, _BYTES_OF_CALLS[self._device] // size))
        return calls, min(_MOST_IN_A_CALL, max(1, _BYTES_OF_A_CALL[self._device] // size))


_WHAT = {"links": "transfers by the process group", "peers": "transfers between two GPUs"}


def block_counts(usual: int) -> list[int]:
    """Block counts below a kernel's usual one: powers of two; none where no kernel copies."""
    return [1 << power for power in range(usual.bit_length()) if 1 << power < usual]
