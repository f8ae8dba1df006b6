"""A candidate rank: joins its group, loads one source version, then answers its judge rank until it is killed.

It holds no reference, no expected output, no seed and no verdict; what it sends is compared or checked elsewhere.
A baseline rank is the same with the reference's source: what the candidate is compared with and timed against.
"""

from __future__ import annotations

import dataclasses
import gc
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from workbench.ranks.arguments import Arguments, load_writes
from workbench.ranks.become import flush_output
from workbench.ranks.channel import Channel, Message
from workbench.ranks.checkout import generate
from workbench.ranks.device import init_group, make_device
from workbench.ranks.draws import Delta
from workbench.ranks.failures import failure
from workbench.ranks.graphs import CapturedCall, NotCaptured, capture
from workbench.ranks.loading import MODULE, load
from workbench.ranks.peak import measure_peak, peak_bytes
from workbench.ranks.pitch import measure_pitch
from workbench.ranks.profiled import profiled
from workbench.ranks.series import MARKS, Values, cache_bytes, rotation, timed, warm_up
from workbench.ranks.shared import Region, Slots
from workbench.ranks.timing import Timed, Timer
from workbench.ranks.transport import PayloadError, pack, unpack

_now = time.perf_counter


@dataclass(frozen=True, kw_only=True)
class RankPlace:
    """Where a rank stands: its number, its set, and what it shares with the others."""

    rank: int
    world: int
    device: str
    gpu: int
    """Index of its GPU; without meaning on the CPU."""
    pitch: bool = False
    """Whether it has to know how fast its GPU starts small kernels."""
    threads: int
    store: str
    slots: Slots


class CandidateRank:
    """Serves one judge rank with the calls of one candidate."""

    def __init__(self, place: RankPlace, control: Channel, judge: Channel, inbox: Region, outbox: Region) -> None:
        self._place = place
        self._control = control
        self._judge = judge
        self._inbox = inbox
        self._outbox = outbox
        self._device = make_device(place.device)
        self._arguments = Arguments((), (), torch.device("cpu"))
        self._variants: list[Values] = []
        self._captured: CapturedCall | None = None
        self._result: Any = None
        self._path = ""

    def main(self) -> None:
        """Get ready, load what the parent sends, and serve the judge."""
        self._device.set_up(self._place.gpu, self._place.threads)
        init_group(self._device, self._place.rank, self._place.world, self._place.store)
        self._timer = Timer(self._device, self._place.slots, self._place.rank)
        self._most_mhz = self._device.most_mhz()
        _first_collective(self._device.tensor_device)
        load_writes(self._device.tensor_device)
        pitch_ns = self._pitch() if self._place.pitch else 0
        self._control.send({"event": "ready", "torch": torch.__version__, "pitch_ns": pitch_ns})
        message = self._held()
        if message is not None and self._load(message):
            self._serve()
        self._control.receive()  # the parent ends the rank: an exit by itself would count as a death

    def _pitch(self) -> int:
        return measure_pitch(self._timer, self._device.tensor_device, self._most_mhz)

    def _held(self) -> Message | None:
        """The source, once all ranks hold it: until then, no death of a rank is its doing. None: the parent is gone."""
        message = self._control.receive()
        if message is None:
            return None
        self._control.send({"event": "holding"})
        return message if self._control.receive() is not None else None

    def _load(self, message: Message) -> bool:
        self._path = message["path"]
        started = _now()
        try:
            self._solution: Callable[..., Any] = load(message["text"], self._path, message["arguments"])
        except BaseException as error:  # a file may raise anything, SystemExit included
            kind = "build-error" if _is_syntax_error(error, self._path) else "load-error"
            self._control.send({"event": "failed", "status": kind, "failure": failure(error, self._path)})
            return False
        finally:
            flush_output()
        self._control.send({"event": "loaded", "ms": (_now() - started) * 1e3})
        return True

    def _serve(self) -> None:
        gc.collect()
        gc.disable()
        while (message := self._judge.receive()) is not None:
            try:
                reply = _OPERATIONS[message["op"]](self, message)
            except PayloadError as error:
                reply = {"contract": str(error)}
            except BaseException as error:  # the same: whatever the user's code raised belongs into the verdict
                reply = {"failure": failure(error, self._path)}
            flush_output()
            self._judge.send(reply)

    def _call(self, message: Message) -> Message:
        """Take new arguments if there are any, call the candidate, keep its result."""
        if "inputs" in message:
            values = unpack(message["inputs"], self._inbox)
            named = zip(message["kinds"], values)
            self._captured = None  # its replays read the arguments that go away
            self._arguments = Arguments(named, message["mutable"], self._device.tensor_device)
        self._arguments.refresh(_deltas(message, "deltas", self._inbox))
        self._result = None
        self._result, took = self._made(message)
        return {**dataclasses.asdict(took), "most_mhz": self._most_mhz}

    def _made(self, message: Message) -> tuple[Any, Timed]:
        """One call as the message wants it: timed behind the gate if it brings new values, else just made."""
        if "late" not in message:
            return self._timer.call(self._solution, self._arguments.values)
        late = self._arguments.stage(_deltas(message, "late", self._inbox))
        solution = self._captured if message["graph"] and self._captured else self._solution
        return self._timer.time(solution, self._arguments.values, late, message["cold"], message["patience"])

    def _capture(self, _message: Message) -> Message:
        """Make a call with these arguments a CUDA graph, which timed calls may replay; why it cannot be one."""
        self._captured = None
        self._arguments.refresh(())
        try:
            self._captured = capture(self._solution, self._arguments.values, self._device.tensor_device)
        except NotCaptured as error:
            return {"captured": False, "detail": str(error)}
        return {"captured": True, "detail": ""}

    def _warm_up(self, message: Message) -> Message:
        """Take new values and make the calls of a series that do not count."""
        self._arguments.refresh(_deltas(message, "deltas", self._inbox))
        self._variants = rotation(self._arguments.values, cache_bytes(self._device.tensor_device))
        self._timer.align()
        warm_up(self._solution, self._variants, message["calls"])
        return {}

    def _series(self, message: Message) -> Message:
        """Take new values, make the calls that count, keep the last one's result."""
        self._arguments.refresh(_deltas(message, "deltas", self._inbox))
        self._result = None
        self._timer.align()
        restore = partial(self._arguments.refresh, ())
        marks = MARKS[self._device.name]()
        self._result, ns = timed(self._solution, self._variants, message["calls"], restore, marks)
        self._variants = []
        self._device.synchronize()
        return {"series_ns": ns}

    def _profile(self, message: Message) -> Message:
        """Take new values, and make calls under the profiler."""
        self._arguments.refresh(_deltas(message, "deltas", self._inbox))
        self._result = None

        def prepare() -> None:
            self._arguments.refresh(())
            self._timer.align()

        def call() -> object:
            return self._solution(*self._arguments.values)

        return {"spans": profiled(prepare, call, self._device.synchronize, self._device.tensor_device)}

    def _export(self, message: Message) -> Message:
        """The last result; if they are asked for, the arguments as the call left them and what else would be right."""
        header, end = pack(self._result, self._outbox)
        reply: Message = {"result": header, "aliases": self._arguments.overlaps(self._result)}
        if message["arguments"]:
            reply["arguments"], end = pack(self._arguments.after(), self._outbox, end)
        if message["alternatives"]:
            found = sys.modules[MODULE].alternatives(*self._arguments.values)
            reply["alternatives"], end = pack(found, self._outbox, end)
        return reply

    def _generate(self, message: Message) -> Message:
        """Arguments from a checkout's generator; asked of baseline ranks alone."""
        made = generate(message["spec"], message["trial"], self._device.tensor_device)
        header, _end = pack(tuple(value for _, value in made), self._outbox)
        return {"inputs": header, "kinds": [kind for kind, _ in made]}

    def _peak(self, _message: Message) -> Message:
        world, device = self._place.world, self._device.tensor_device
        return {"peak": measure_peak(self._timer, world, device), "bytes": peak_bytes(world, device)}

    def _trial(self, message: Message) -> Message:
        reply = self._call(message)
        flush_output()
        return {**reply, **self._export(message)}


_OPERATIONS: dict[str, Callable[[CandidateRank, Message], Message]] = {
    "call": CandidateRank._call,
    "export": CandidateRank._export,
    "trial": CandidateRank._trial,
    "generate": CandidateRank._generate,
    "peak": CandidateRank._peak,
    "capture": CandidateRank._capture,
    "warm_up": CandidateRank._warm_up,
    "series": CandidateRank._series,
    "profile": CandidateRank._profile,
}


def _first_collective(device: torch.device) -> None:
    """Connect all pairs now, so that the first judged call does not pay for it."""
    torch.distributed.all_reduce(torch.zeros(1, device=device))


def _is_syntax_error(error: BaseException, path: str) -> bool:
    return isinstance(error, SyntaxError) and error.filename == path


def _deltas(message: Message, name: str, inbox: Region) -> list[Delta]:
    if name not in message:
        return []
    return [Delta(place, indices, values) for place, indices, values in unpack(message[name], inbox)]
