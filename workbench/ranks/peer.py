"""The judge rank's view of a baseline or candidate rank: requests, replies, and how a reply can be bad."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from workbench.errors import ChannelError
from workbench.ranks.channel import Channel, Message
from workbench.ranks.draws import Delta, split
from workbench.ranks.failures import read_failure
from workbench.ranks.profiled import KINDS, MOST_NAME, MOST_SPANS, Span
from workbench.ranks.shared import Region
from workbench.ranks.transport import Packer, pack, unpack
from workbench.ranks.tree import described, plain

T = TypeVar("T")

_now = time.perf_counter_ns
_MAX_WORDS = 400
_MOST = {"ns": 1 << 62, "host_ns": 1 << 62, "mhz": 10_000, "most_mhz": 10_000}
"""Whole numbers from 0 that an answer may hold, by name, with what each stays below."""
_FLAGS = ("held", "cold")
_TIMED = ("ns", "host_ns", "mhz", *_FLAGS)


class PeerGone(Exception):
    """The candidate rank closed its channel: it was killed, exited or crashed."""


class PeerFailed(Exception):
    """The candidate rank answered, but not with a result; ``report`` goes to the parent."""

    def __init__(self, report: Message) -> None:
        super().__init__(report["detail"])
        self.report = report


@dataclass(frozen=True)
class TimedCall:
    """One timed call on one rank, times in ns; ``bracket`` is the judge's own clock around it, the rest are claims."""

    ns: int
    bracket: int
    host_ns: int
    mhz: int
    held: bool
    cold: bool

    @property
    def row(self) -> tuple[int, int, int, int, bool]:
        """As it travels to the parent."""
        return self.ns, self.bracket, self.host_ns, self.mhz, self.held


@dataclass(frozen=True)
class CallValues:
    """New values for one timed call, laid out for the rank's inbox, which takes them when the call is asked for."""

    request: Message
    packer: Packer

    @classmethod
    def of(cls, deltas: Sequence[Delta]) -> CallValues:
        """The most of the values first, and those that are written last."""
        early, late = zip(*map(split, deltas)) if deltas else ((), ())
        packer = Packer()
        return cls({"deltas": packer.add(_plain(early)), "late": packer.add(_plain(late))}, packer)


class Peer:
    """One attached candidate rank."""

    def __init__(self, channel: Channel, inbox: Region, outbox: Region) -> None:
        self._channel = channel
        self._inbox = inbox
        self.outbox = outbox

    def trial(
        self, arguments: Sequence[Any], mutable: list[int], check_arguments: bool, alternatives: bool = False
    ) -> Message:
        """Run one call on fresh arguments; {ns, result, aliases[, arguments][, alternatives]}."""
        wanted = {"arguments": check_arguments, "alternatives": alternatives}
        message = {"op": "trial", **self._inputs(arguments, mutable), **wanted}
        return self._ask(message, ("result", "aliases", "ns"))

    def begin(self, arguments: Sequence[Any], mutable: list[int]) -> int:
        """Give the arguments that timed calls start from, and make the first call; the GPU's peak clock, MHz or 0."""
        reply = self._ask({"op": "call", **self._inputs(arguments, mutable)}, ("ns", "most_mhz"))
        return int(reply["most_mhz"])

    def capture(self) -> str:
        """Have the call captured as a CUDA graph; why it cannot be, empty if it was."""
        reply = self._ask({"op": "capture"}, ("captured", "detail"))
        return "" if reply["captured"] is True else str(reply["detail"])[:_MAX_WORDS] or "no reason given"

    def call(
        self, values: CallValues, how: Message, meanwhile: Callable[[], T] | None = None
    ) -> tuple[TimedCall, T | None]:
        """One timed call with new values, the last of them written when all ranks are about to begin; and what the
        judge does ``meanwhile``.

        ``how`` has ``cold`` (caches flushed before), ``graph`` (the replay of the captured call) and ``patience`` (for
        how many ns the gate stays shut for hosts).
        """
        values.packer.copy_into(self._inbox)
        message = {**how, "op": "call", **values.request}
        before = _now()
        self._send(message)
        done = meanwhile() if meanwhile else None
        reply = self._answer(_TIMED)
        bracket = _now() - before
        if reply["host_ns"] > bracket:
            raise _malformed()
        return TimedCall(bracket=bracket, **{name: reply[name] for name in _TIMED}), done

    def warm_up(self, deltas: Iterable[Delta], calls: int) -> None:
        """Calls before a series, with new values."""
        header, _end = pack(_plain(deltas), self._inbox)
        self._ask({"op": "warm_up", "deltas": header, "calls": calls}, ())

    def series(self, deltas: Iterable[Delta], calls: int) -> tuple[list[int], int]:
        """Calls timed in a row, with new values: ns of each as the rank claims, the judge's own clock around all."""
        header, _end = pack(_plain(deltas), self._inbox)
        before = _now()
        reply = self._ask({"op": "series", "deltas": header, "calls": calls}, ("series_ns",))
        bracket, found = _now() - before, reply["series_ns"]
        if not isinstance(found, list) or len(found) != calls or not all(_holds({"ns": ns}) for ns in found):
            raise _malformed()
        return found, bracket

    def profile(self, deltas: Iterable[Delta]) -> list[Span]:
        """Calls under the rank's profiler, with new values: the spans of the last one, as the rank claims."""
        header, _end = pack(_plain(deltas), self._inbox)
        found = self._ask({"op": "profile", "deltas": header}, ("spans",))["spans"]
        if not isinstance(found, list) or len(found) > MOST_SPANS or not all(map(_is_span, found)):
            raise _malformed()
        return [(name, kind, begin, end) for name, kind, begin, end in found]

    def export(self, alternatives: bool = False) -> Message:
        """The result of the last call: {result, aliases[, alternatives]}."""
        return self._ask({"op": "export", "arguments": False, "alternatives": alternatives}, ("result",))

    def generate(self, spec: Message, trial: int) -> list[Any]:
        """The arguments that a checkout's generator makes on this rank, copied."""
        reply = self._ask({"op": "generate", "spec": spec, "trial": trial}, ("inputs", "kinds"))
        values = unpack(reply["inputs"], self.outbox)
        return [described(kind, value) for kind, value in zip(reply["kinds"], values)]

    def peak(self) -> Message:
        """The measured peak of the ranks' link: {peak: {op: [ns]}, bytes}."""
        return self._ask({"op": "peak"}, ("peak", "bytes"))

    def close(self) -> None:
        """Let go of the candidate and of the memory shared with it."""
        self._channel.close()
        self._inbox.close()
        self.outbox.close()

    def _inputs(self, arguments: Sequence[Any], mutable: list[int]) -> Message:
        kinds, values = zip(*map(plain, arguments)) if arguments else ((), ())
        header, _end = pack(values, self._inbox)
        return {"inputs": header, "kinds": kinds, "mutable": mutable}

    def _ask(self, message: Message, needed: tuple[str, ...]) -> Message:
        self._send(message)
        return self._answer(needed)

    def _send(self, message: Message) -> None:
        try:
            self._channel.send(message)
        except OSError:
            raise PeerGone from None

    def _answer(self, needed: tuple[str, ...]) -> Message:
        try:
            reply = self._channel.receive()
        except ChannelError as error:
            raise PeerFailed({"status": "crash", "detail": str(error)}) from None
        except OSError:
            raise PeerGone from None
        if reply is None:
            raise PeerGone
        return _checked(reply, needed)


def _checked(reply: Message, needed: tuple[str, ...]) -> Message:
    if "failure" in reply:
        found = read_failure(reply["failure"])
        detail = f"{found['type']}: {found['message']}"
        raise PeerFailed({"status": "crash", "detail": detail, "failure": found, "at": _now()})
    if "contract" in reply:
        raise PeerFailed({"status": "contract", "detail": str(reply["contract"])[:_MAX_WORDS]})
    if not _holds(reply) or any(key not in reply for key in needed):
        raise _malformed()
    return reply


def _malformed() -> PeerFailed:
    return PeerFailed({"status": "crash", "detail": "the rank sent a malformed answer"})


def _holds(reply: Message) -> bool:
    """Whether the numbers and flags that there are can be."""
    numbers = all(type(reply.get(name, 0)) is int and 0 <= reply.get(name, 0) < most for name, most in _MOST.items())
    return numbers and all(type(reply.get(name, False)) is bool for name in _FLAGS)


def _is_span(found: Any) -> bool:
    """Whether something has the form of a span: texts that are not too long, times in order."""
    if not isinstance(found, list) or [type(part) for part in found] != [str, str, int, int]:
        return False
    name, kind, begin, end = found
    return len(name) <= MOST_NAME and kind in KINDS and 0 <= begin <= end < _MOST["ns"]


def _plain(deltas: Iterable[Delta]) -> list[list[Any]]:
    return [[delta.argument, delta.indices, delta.values] for delta in deltas]
