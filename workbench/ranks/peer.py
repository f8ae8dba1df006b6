"""The judge rank's view of a baseline or candidate rank: requests, replies, and how a reply can be bad."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from workbench.errors import ChannelError
from workbench.ranks.channel import Channel, Message
from workbench.ranks.draws import Delta
from workbench.ranks.failures import read_failure
from workbench.ranks.shared import Region
from workbench.ranks.transport import pack, unpack
from workbench.ranks.tree import described, plain

_now = time.perf_counter_ns
_MAX_WORDS = 400
_MAX_NS = 1 << 62


class PeerGone(Exception):
    """The candidate rank closed its channel: it was killed, exited or crashed."""


class PeerFailed(Exception):
    """The candidate rank answered, but not with a result; ``report`` goes to the parent."""

    def __init__(self, report: Message) -> None:
        super().__init__(report["detail"])
        self.report = report


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

    def begin(self, arguments: Sequence[Any], mutable: list[int]) -> None:
        """Give the arguments that timed calls start from, and make the first call."""
        self._ask({"op": "call", **self._inputs(arguments, mutable)}, ("ns",))

    def call(self, deltas: Iterable[Delta]) -> tuple[int, int]:
        """One timed call: its duration in ns as the rank claims, and the judge's own bracket around it."""
        header, _end = pack([[d.argument, d.indices, d.values] for d in deltas], self._inbox)
        before = _now()
        reply = self._ask({"op": "call", "deltas": header}, ("ns",))
        return reply["ns"], _now() - before

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
        try:
            self._channel.send(message)
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
    time_holds = type(reply.get("ns", 0)) is int and 0 <= reply.get("ns", 0) < _MAX_NS
    if not time_holds or any(key not in reply for key in needed):
        raise PeerFailed({"status": "crash", "detail": "the rank sent a malformed answer"})
    return reply
