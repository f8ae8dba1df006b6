"""Sets of ranks as the parent sees them: judges that answer requests, and candidates that run one source version."""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from workbench.config import RunSettings
from workbench.errors import LostSetError, RanksError
from workbench.flow.wire import Wire
from workbench.flow.zygote import Zygote
from workbench.ranks.channel import LIMIT, SMALL_LIMIT, Message
from workbench.ranks.shared import shared_fd
from workbench.target import Target

LogHandler = Callable[[Message], None]


def is_timed(target: Target, run: RunSettings) -> bool:
    """Whether attempts that pass are timed."""
    return run.samples > 0 and not target.not_timed


def needs_pitch(target: Target, run: RunSettings) -> bool:
    """Whether candidate and baseline ranks have to know how fast their GPUs start small kernels.

    It costs a start some tenths of a second, and counts where single calls are timed.
    """
    return target.device == "cuda" and run.protocol == "pkwb" and is_timed(target, run)


def rank_request(target: Target, role: str, threads: int, pitch: bool = False) -> Message:
    """What the zygote is told of a set; ``threads`` 0 shares the cores between the ranks, ``pitch`` has it measured."""
    share = max(1, (os.cpu_count() or 1) // target.world)
    shared = target.shared.count if target.shared else 0
    return {
        "role": role,
        "world": target.world,
        "device": target.device,
        "shared_gpus": shared,
        "threads": threads or share,
        "pitch": pitch,
    }


class RankSet:
    """One forked set: a wire to each rank, readiness, deaths, and its end."""

    limit = LIMIT
    """Bytes of the longest message taken from a rank."""

    def __init__(self, zygote: Zygote, world: int) -> None:
        self.zygote = zygote
        self.world = world
        self.id = 0
        self.pids: list[int] = []
        self.exits: dict[int, Message] = {}
        """Deaths by rank, as the zygote reported them."""
        self.torch = ""
        self.pitch_ns = [0] * world
        """How fast each rank's GPU starts small kernels, measured before a source was loaded; 0 where it has none."""
        self.startup_ms = 0.0
        self.killed = False
        self.ended = False
        """Whether nothing of the set is left, or the zygote is gone with it."""
        self.on_log: LogHandler = lambda message: None
        self.changed = asyncio.Event()
        """Set whenever a rank died."""
        loop = asyncio.get_running_loop()
        self._wires = [
            Wire(partial(self._message, rank), partial(self._closed, rank), self.limit) for rank in range(world)
        ]
        self._ready: list[asyncio.Future[None]] = [loop.create_future() for _ in range(world)]
        self._stacks: asyncio.Future[dict[str, str]] | None = None
        self._output: asyncio.Future[None] = loop.create_future()
        self._forked_at = 0.0

    def fork(self, request: Message, fds_of_rank: Callable[[int], list[int]]) -> None:
        """Have the zygote fork the ranks; each gets its wire's far end and the descriptors of ``fds_of_rank``."""
        self._forked_at = time.perf_counter()
        fds = [fd for rank in range(self.world) for fd in (self._wires[rank].far_end(), *fds_of_rank(rank))]
        self.id = self.zygote.fork(request, fds, self._report)
        for wire in self._wires:
            wire.release_far_end()

    async def wait_ready(self, limit: float) -> None:
        """Wait until every rank has joined its group; RanksError after ``limit`` seconds or when one died."""
        done, pending = await asyncio.wait(self._ready, timeout=limit, return_when=asyncio.FIRST_EXCEPTION)
        for future in done:
            future.result()
        if pending:
            raise RanksError(f"{len(pending)} of {self.world} ranks were not ready after {limit:g} s")

    def kill(self) -> None:
        """End all ranks of the set and what they left behind."""
        if not self.killed:
            self.killed = True
            self.zygote.kill(self.id)
            for wire in self._wires:
                wire.close()

    async def wait_output(self, limit: float = 2.0) -> None:
        """Wait until everything that the ranks have printed so far was handed to ``on_log``; once in a set's life."""
        self.zygote.ask_output(self.id)
        await asyncio.wait([self._output], timeout=limit)

    async def stacks(self, limit: float = 2.0) -> dict[int, str]:
        """The Python stacks of the living ranks, by rank; empty when they cannot be had."""
        if self._stacks is None:
            self._stacks = asyncio.get_running_loop().create_future()
            self.zygote.ask_stacks(self.id)
        waiting = self._stacks
        await asyncio.wait([waiting], timeout=limit)
        return {int(rank): text for rank, text in waiting.result().items()} if waiting.done() else {}

    def peak_rss(self) -> int | None:
        """The largest resident memory in bytes that any rank had so far, by /proc; None where there is none."""
        peaks = [_peak_rss(pid) for pid in self.pids]
        known = [peak for peak in peaks if peak is not None]
        return max(known) if known else None

    def send(self, rank: int, message: Message, fds: Sequence[int] = ()) -> None:
        """Send one message to one rank."""
        self._wires[rank].send(message, fds)

    def _message(self, rank: int, message: Message) -> None:
        if message.get("event") == "ready" and not self._ready[rank].done():
            self.torch = str(message.get("torch", ""))
            self.pitch_ns[rank] = int(message.get("pitch_ns", 0))
            self.startup_ms = (time.perf_counter() - self._forked_at) * 1e3
            self._ready[rank].set_result(None)

    def _closed(self, rank: int, reason: str) -> None:
        """A rank's wire ended; its death is reported by the zygote."""

    def _report(self, message: Message) -> None:
        event = message["event"]
        if event == "forked":
            self.pids = message["pids"]
        elif event == "log":
            self.on_log(message)
        elif event == "output" and not self._output.done():
            self._output.set_result(None)
        elif event == "exit":
            self._died(message)
        elif event == "stacks" and self._stacks is not None and not self._stacks.done():
            self._stacks.set_result(message["stacks"])
            self._stacks = None
        elif event in ("gone", "lost"):
            self._all_gone()

    def _died(self, message: Message) -> None:
        rank = message["rank"]
        if not self.killed:
            self.exits[rank] = message
        _fail(self._ready[rank], f"rank {rank} died while it started")
        self.changed.set()

    def _all_gone(self) -> None:
        self.ended = True
        for rank, future in enumerate(self._ready):
            _fail(future, f"rank {rank} was ended while it started")
        if not self._output.done():
            self._output.set_result(None)
        self.changed.set()


class JudgeSet(RankSet):
    """The judge ranks: every request goes to all of them and each answers."""

    who = "judge"
    """What these ranks are, in messages."""

    def __init__(self, zygote: Zygote, world: int) -> None:
        super().__init__(zygote, world)
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Message]] = {}

    def ask(self, messages: Sequence[Message], fds: Sequence[Sequence[int]] = ()) -> list[asyncio.Future[Message]]:
        """Send each rank its message, all before any answer is awaited; the answers' futures in rank order."""
        loop = asyncio.get_running_loop()
        futures = []
        for rank, message in enumerate(messages):
            number = next(self._ids)
            future: asyncio.Future[Message] = loop.create_future()
            futures.append(future)
            if rank in self.exits or self.ended:
                death = self.exits.get(rank)
                _fail(
                    future,
                    f"{self.who} rank {rank} died ({exit_words(death)})"
                    if death
                    else f"the {self.who} ranks were ended",
                )
                continue
            self._waiting[number] = future
            self.send(rank, {**message, "id": number}, fds[rank] if fds else ())
        return futures

    async def all(self, message: Message, limit: float) -> list[Message]:
        """The same request to all; their answers. RanksError when one fails or ``limit`` seconds pass."""
        return await self.each([message] * self.world, limit)

    async def each(self, messages: Sequence[Message], limit: float, fds: Sequence[Sequence[int]] = ()) -> list[Message]:
        """Each rank its own request; their answers, as in ``all``."""
        futures = self.ask(messages, fds)
        _done, pending = await asyncio.wait(futures, timeout=limit)
        if pending:
            raise RanksError(f"the {self.who} did not answer `{messages[0]['op']}` within {limit:g} s")
        answers = [future.result() for future in futures]
        for rank, answer in enumerate(answers):
            if "error" in answer:
                raise RanksError(f"{self.who} rank {rank}: {answer['error']['type']}: {answer['error']['message']}")
        return answers

    def _message(self, rank: int, message: Message) -> None:
        super()._message(rank, message)
        future = self._waiting.pop(message.get("id", 0), None)
        if future is not None and not future.done():
            future.set_result(message)

    def _died(self, message: Message) -> None:
        super()._died(message)
        self._fail_all(f"{self.who} rank {message['rank']} died ({exit_words(message)})")

    def _all_gone(self) -> None:
        super()._all_gone()
        self._fail_all(f"the {self.who} ranks were ended")

    def _fail_all(self, reason: str) -> None:
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            _fail(future, reason)


class CandidateSet(RankSet):
    """Candidate or baseline ranks: stand by, load one source, then answer the judges they are attached to.

    Three messages are due from each rank: that it is ready, that it holds the source, and one after the source has run.
    Whatever that is, it is the answer to ``run``, for the reader to check, and nothing is read after it.
    """

    limit = SMALL_LIMIT

    def __init__(self, zygote: Zygote, world: int) -> None:
        super().__init__(zygote, world)
        loop = asyncio.get_running_loop()
        self._judge_ends: list[tuple[int, int, int]] = []
        self._holding: list[asyncio.Future[None]] = [loop.create_future() for _ in range(world)]
        self.loaded: list[asyncio.Future[Message]] = [loop.create_future() for _ in range(world)]
        """``loaded`` or ``failed`` of each rank as the rank itself says, or its death, or ``garbled``."""

    async def start(self, request: Message, limit: float) -> None:
        """Fork the ranks, each with its ends of a socket and two shared regions, and wait until all are ready."""
        pairs = [socket.socketpair() for _ in range(self.world)]
        own = [(pairs[rank][0].detach(), shared_fd("inbox"), shared_fd("outbox")) for rank in range(self.world)]
        self._judge_ends = own
        try:
            self.fork(request, lambda rank: [pairs[rank][1].fileno(), *own[rank][1:]])
        finally:
            for _near, far in pairs:
                far.close()
        await self.wait_ready(limit)

    def attach(self, judges: JudgeSet, side: str = "candidate") -> list[asyncio.Future[Message]]:
        """Hand each rank's other ends to its judge; from now on the judges call this set as that side."""
        answers = judges.ask([{"op": "attach", "side": side}] * self.world, self._judge_ends)
        self._close_judge_ends()
        return answers

    def kill(self) -> None:
        """End all ranks of the set and what they left behind."""
        super().kill()
        self._close_judge_ends()

    def _close_judge_ends(self) -> None:
        ends, self._judge_ends = self._judge_ends, []
        for fd in itertools.chain.from_iterable(ends):
            os.close(fd)

    async def hold(self, text: str, path: str, arguments: list[str], limit: float) -> None:
        """Hand the source to all ranks and wait until each holds it; none runs it before ``run``.

        LostSetError when a rank has died, of whatever but the source, or has not answered after ``limit`` seconds.
        """
        for rank in range(self.world):
            self.send(rank, {"op": "load", "text": text, "path": path, "arguments": arguments})
        await asyncio.wait(self._holding, timeout=limit, return_when=asyncio.FIRST_EXCEPTION)
        for rank, death in self.exits.items():
            raise LostSetError(f"rank {rank} of the set that stood by died ({exit_words(death)})")
        for rank, future in enumerate(self._holding):
            if not future.done():
                raise LostSetError(f"rank {rank} of the set that stood by did not answer within {limit:g} s")
            future.result()

    def run(self) -> None:
        """Have all ranks run the source that they hold; ``loaded`` gets their answers."""
        for rank in range(self.world):
            self.send(rank, {"op": "run"})

    def _message(self, rank: int, message: Message) -> None:
        if not self._ready[rank].done():
            super()._message(rank, message)
            return
        if not self._holding[rank].done():
            if message.get("event") == "holding":
                self._holding[rank].set_result(None)
            return
        self._wires[rank].stop_reading()
        self._answered(rank, message)

    def _closed(self, rank: int, reason: str) -> None:
        if self._wires[rank].garbled:
            self._answered(rank, {"event": "garbled", "reason": reason})

    def _answered(self, rank: int, message: Message) -> None:
        if not self.loaded[rank].done():
            self.loaded[rank].set_result(message)

    def _all_gone(self) -> None:
        super()._all_gone()
        for rank, futures in enumerate(zip(self._holding, self.loaded)):
            for future in futures:
                _fail(future, f"rank {rank} was ended while it loaded the file")

    def _died(self, message: Message) -> None:
        super()._died(message)
        _fail(self._holding[message["rank"]], f"rank {message['rank']} died while it stood by")
        self._answered(message["rank"], message)


def exit_words(message: Message) -> str:
    """A rank's death in words."""
    if message["signal"]:
        try:
            name = signal.Signals(message["signal"]).name
        except ValueError:
            name = "unknown signal"
        return f"killed by signal {message['signal']}, {name}"
    return f"exited with code {message['code']}"


def _fail(future: asyncio.Future[Any], reason: str) -> None:
    """Fail a future that nobody may be waiting for."""
    if not future.done():
        future.set_exception(RanksError(reason))
        future.exception()


def _peak_rss(pid: int) -> int | None:
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        return None
    return None
