"""A judge rank: draws inputs, feeds its baseline rank (the reference) and its candidate rank, compares their results.

It runs neither the reference nor a candidate, holds the only copy of the seed, and answers the parent's requests one
by one. Baseline and candidate run the same code in the same kind of process, so that their times compare. A judge
never waits for another judge: a rank that dies can not leave judges stuck.
"""

from __future__ import annotations

import math
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from workbench.ranks.ahead import Draw, DrawAhead
from workbench.ranks.channel import Channel, Message
from workbench.ranks.checkout import CheckoutInputs
from workbench.ranks.compare import EXACT, Difference, Mismatch, Rule, compare, mismatch, use_threads
from workbench.ranks.draws import InputSource
from workbench.ranks.failures import failure
from workbench.ranks.peer import CallValues, Peer, PeerFailed, PeerGone, TimedCall
from workbench.ranks.shared import Region
from workbench.ranks.transport import DTYPES, unpack
from workbench.ranks.tree import copied, leaves

_now = time.perf_counter_ns
_MAX_WORDS = 400
_STRIDED_NS = 4
"""What a byte of a result in an unlucky order may take a core to copy."""
_UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError)
"""What reading a hostile header may raise; a header that cannot be read is a breach of the contract."""

BASELINE, CANDIDATE = "baseline", "candidate"
_PREPARED = ("result", "arguments", "alternatives")


@dataclass(frozen=True)
class Prepared:
    """One trial's arguments and what the reference made of them."""

    arguments: list[Any]
    header: Message
    expected: Any
    after: Any
    """The tensors of each argument as the reference left them."""
    alternatives: Any


@dataclass(frozen=True)
class TimedResult:
    """What one side made of one checked call."""

    header: Message
    value: Any
    alternatives: Any = None


@dataclass
class TimedRun:
    """Results of checked timed calls by side and call, kept until both sides have made the call."""

    number: int
    results: dict[str, dict[int, TimedResult]] = field(default_factory=lambda: {BASELINE: {}, CANDIDATE: {}})


class BaselineFailed(Exception):
    """The reference failed: nothing that a candidate did."""


class JudgeRank:
    """Answers the parent's requests; ``main`` returns when the parent is gone."""

    def __init__(self, rank: int, threads: int, control: Channel, spin_ns: int = 0) -> None:
        self._rank = rank
        self._spin_ns = spin_ns
        """How long answers of its other ranks are looked for; then it also has a core to draw values meanwhile."""
        self._control = control
        self._peers: dict[str, Peer] = {}
        self._timed = TimedRun(0)
        use_threads(threads)

    def main(self) -> None:
        """Serve until the parent is gone."""
        self._control.send({"event": "ready", "torch": torch.__version__})
        while (message := self._control.receive()) is not None:
            self._control.send({"id": message["id"], **self._answer(message)})

    def _answer(self, message: Message) -> Message:
        try:
            return _OPERATIONS[message["op"]](self, message)
        except PeerGone:
            return {"gone": True}
        except PeerFailed as error:
            return {"report": error.report}
        except Exception as error:
            return {"error": failure(error, __file__)}

    def _setup(self, message: Message) -> Message:
        """Take the problem: its job and the secret seed."""
        job = message["job"]
        self._inputs = self._source(job, message["seed"])
        own = isinstance(self._inputs, InputSource)  # a checkout's generator runs on the baseline rank
        self._draws = DrawAhead(self._inputs.draw, threads=int(own and self._spin_ns > 0))
        self._as_any_dtype = job["rule"]["compare"] == "allclose"
        self._argument_rule = Rule.of(job["rule"])
        self._rules = [Rule.of(output) for output in job["outputs"]]
        self._alternatives = bool(job["alternatives"])
        self._names = [spec["name"] for spec in job["inputs"]]
        self._mutates = [spec["mutates"] for spec in job["inputs"]]
        self._mutable = [place for place, effect in enumerate(self._mutates) if effect != "none"]
        self._returns_input = bool(job["returns_input"])
        self._lengths_vary = any(-1 in output["shape"] for output in job["outputs"])
        return {}

    def _source(self, job: Message, seed: str) -> InputSource | CheckoutInputs:
        spec = job["generator"]
        if spec is None:
            return InputSource(job, seed, self._rank)
        return CheckoutInputs(seed, self._rank, lambda trial: self._generated(spec, trial))

    def _generated(self, spec: Message, trial: int) -> list[Any]:
        made: list[Any] = self._baseline(lambda: self._peer(BASELINE).generate(spec, trial))
        self._names = [*self._names, *(f"argument {place + 1}" for place in range(len(self._names), len(made)))]
        self._mutates = ["may"] * len(made)
        self._mutable = list(range(len(made)))
        return made

    def _attach(self, message: Message) -> Message:
        """Take a new baseline or candidate rank: its channel and the two shared regions came as descriptors."""
        channel, inbox, outbox = self._control.fds
        old = self._peers.pop(message["side"], None)
        if old is not None:
            old.close()
        self._peers[message["side"]] = Peer(Channel(channel, spin_ns=self._spin_ns), Region(inbox), Region(outbox))
        self._timed = TimedRun(0)
        self._draws.drop()
        return {}

    def _run_reference(self, message: Message) -> Prepared:
        arguments = self._draws.take(Draw.of(message))
        if message["next"] is not None:
            self._draws.begin(Draw.of(message["next"]))
        peer = self._peer(BASELINE)
        effects = "must" in self._mutates
        reply = self._baseline(lambda: peer.trial(arguments, self._mutable, effects, self._alternatives))
        self._form = reply["result"]
        result, after, others = (copied(unpack(reply[k], peer.outbox)) if k in reply else None for k in _PREPARED)
        return Prepared(arguments, reply["result"], result, after, others)

    def _trial(self, message: Message) -> Message:
        """One call of the candidate on fresh inputs, compared: the report for the parent."""
        prepared = self._run_reference(message)
        reply = self._peer(CANDIDATE).trial(prepared.arguments, self._mutable, check_arguments=True)
        return {"report": {**self._judge(prepared, reply), "ns": reply["ns"]}}

    def _judge(self, prepared: Prepared, reply: Message) -> Message:
        report = self._judge_result(prepared, reply)
        if report["status"] != "ok":
            return report
        aliases = reply["aliases"] if isinstance(reply["aliases"], list) else []
        if aliases and not self._returns_input:
            name = next((name for place, name in enumerate(self._names) if place == aliases[0]), "?")
            return {"status": "contract", "detail": f"the result shares memory with the argument {name}"}
        return self._judge_arguments(prepared, reply) or report

    def _judge_result(self, prepared: Prepared, reply: Message) -> Message:
        try:
            found = mismatch(prepared.header, reply["result"], self._as_any_dtype)
            got = None if found else unpack(reply["result"], self._peer(CANDIDATE).outbox)
        except _UNREADABLE as error:
            return {"status": "contract", "detail": f"the result could not be read: {error}"}
        if found:
            return self._mismatch_report(found)
        return _report(compare(prepared.expected, got, self._rules, prepared.alternatives))

    def _mismatch_report(self, found: Mismatch, call: str = "") -> Message:
        """A breach of the contract, or a wrong result where the data decide the lengths."""
        status = "wrong" if found.kind == "shape" and self._lengths_vary else "contract"
        return {"status": status, "detail": textwrap.shorten(f"{call}{found.words}", _MAX_WORDS, placeholder=" ...")}

    def _judge_arguments(self, prepared: Prepared, reply: Message) -> Message | None:
        """None when the call left every argument as the contract has it."""
        try:
            after = unpack(reply["arguments"], self._peer(CANDIDATE).outbox)
            if len(after) != len(self._names):
                raise ValueError("not as many as there were")
        except _UNREADABLE as error:
            return {"status": "contract", "detail": f"the arguments could not be read back: {error}"}
        for place, effect in enumerate(self._mutates):
            found = None if effect == "may" else self._judge_argument(prepared, place, after[place], effect == "must")
            if found:
                return found
        return None

    def _judge_argument(self, prepared: Prepared, place: int, after: Any, must: bool) -> Message | None:
        expected = tuple(prepared.after[place] if must else leaves(prepared.arguments[place]))
        rule = self._argument_rule if must else EXACT
        same = _forms(after) == _forms(expected)
        found = compare(expected, after, [rule], name=self._names[place]) if same else Difference(first_bad="form")
        if found.passes:
            return None
        words = "is not what the contract makes of it" if must else "was changed"
        return {**_report(found), "status": "contract", "detail": f"the argument {self._names[place]} {words}"}

    def _begin(self, message: Message) -> Message:
        """Start timed calls of one attempt: the same base inputs for both sides, the first call of each made; if asked,
        captured as a graph. ``plain`` says which side could not be, and why."""
        self._timed = TimedRun(message["number"])
        arguments = self._draws.take(Draw(message["number"]))
        baseline, candidate = self._peer(BASELINE), self._peer(CANDIDATE)
        most_mhz = self._baseline(lambda: baseline.begin(arguments, self._mutable))
        why = {BASELINE: self._baseline(baseline.capture)} if message["graph"] else {}
        candidate.begin(arguments, self._mutable)
        if message["graph"]:
            why[CANDIDATE] = candidate.capture()
        return {"most_mhz": most_mhz, "plain": {side: words for side, words in why.items() if words}}

    def _block(self, message: Message) -> Message:
        """Timed calls of one side, each as ``TimedCall.row``, whether all were cold, and the judge's bracket around the
        fetching of each result that is compared, in ns; bad results end it."""
        run = partial(self._timed_calls, message)
        calls, exports = self._baseline(run) if message["side"] == BASELINE else run()
        report = self._compare_checked()
        answer = {"samples": [call.row for call in calls], "cold": all(call.cold for call in calls), "exports": exports}
        return {**answer, **({"report": report} if report else {})}

    def _timed_calls(self, message: Message) -> tuple[list[TimedCall], list[int]]:
        side, number, first = message["side"], self._timed.number, message["first"]
        peer, how = self._peer(side), {name: message[name] for name in ("cold", "graph", "patience")}
        samples, exports = [], []
        values, end = partial(self._call_values, number), first + message["calls"]
        ready = None
        for call in range(first, end):
            ahead = partial(values, call + 1) if self._spin_ns and call + 1 < end else None
            sample, ready = peer.call(ready or values(call), how, ahead)
            samples.append(sample)
            if call == message["last"] or self._inputs.checked(number, call):
                exports.append(self._keep_result(side, call))
        return samples, exports

    def _call_values(self, number: int, call: int) -> CallValues:
        return CallValues.of(self._inputs.deltas(number, call))

    def _series(self, message: Message) -> Message:
        """Calls of one side timed in a row: ns of each, the judge's brackets around all and around the fetching of the
        last one's result, which is compared."""
        run = partial(self._timed_series, message["side"], message["number"], message["warm_up"], message["calls"])
        samples, bracket, export = self._baseline(run) if message["side"] == BASELINE else run()
        report = self._compare_checked("the last call of series")
        answer = {"samples": samples, "bracket": bracket, "export": export}
        return {**answer, **({"report": report} if report else {})}

    def _timed_series(self, side: str, series: int, warm_up: int, calls: int) -> tuple[list[int], int, int]:
        peer, number = self._peer(side), self._timed.number
        peer.warm_up(self._inputs.deltas(number, 2 * series), warm_up)
        samples, bracket = peer.series(self._inputs.deltas(number, 2 * series + 1), calls)
        return samples, bracket, self._keep_result(side, series)

    def _keep_result(self, side: str, call: int) -> int:
        """Keep the result of the call just made until the other side has made it too; ns until it was there, without
        what it may take to copy."""
        peer = self._peer(side)
        before = _now()
        reply = peer.export(self._alternatives and side == BASELINE)
        took = _now() - before
        self._timed.results[side][call] = self._read_timed(reply, peer)
        return max(0, took - _copying_ns(self._form))

    def _read_timed(self, reply: Message, peer: Peer) -> TimedResult:
        """A copy of a timed call's result; PeerFailed, before it is copied, if its form is not the reference's."""
        header = reply["result"]
        try:
            found = mismatch(self._form, header, self._as_any_dtype)
            if found is None or (found.kind == "shape" and self._lengths_vary):
                others = copied(unpack(reply["alternatives"], peer.outbox)) if "alternatives" in reply else None
                return TimedResult(header, copied(unpack(header, peer.outbox)), others)
        except _UNREADABLE as error:
            raise PeerFailed({"status": "contract", "detail": f"the result could not be read: {error}"}) from None
        raise PeerFailed(self._mismatch_report(found, "a timed call: "))

    def _compare_checked(self, what: str = "timed call") -> Message | None:
        """Compare the calls that both sides have made; the first bad report."""
        expected, got = self._timed.results[BASELINE], self._timed.results[CANDIDATE]
        for call in sorted(expected.keys() & got.keys()):
            want, have = expected.pop(call), got.pop(call)
            found = mismatch(want.header, have.header, self._as_any_dtype)
            if found:
                return self._mismatch_report(found, f"{what} {call}: ")
            difference = compare(want.value, have.value, self._rules, want.alternatives)
            if not difference.passes:
                detail = f"{what} {call}: not the result of its inputs"
                return {**_report(difference), "detail": detail}
        return None

    def _profile(self, message: Message) -> Message:
        """Calls of the candidate under its own profiler, with new values: spans, which are its claims."""
        return {"spans": self._peer(CANDIDATE).profile(self._inputs.deltas(self._timed.number, message["call"]))}

    def _peak(self, _message: Message) -> Message:
        return self._peer(BASELINE).peak()

    def _baseline(self, ask: Callable[[], Any]) -> Any:
        """A request to the baseline rank, whose failure is never the candidate's."""
        try:
            return ask()
        except PeerGone:
            raise BaselineFailed("the rank that runs the reference is gone") from None
        except PeerFailed as error:
            raise BaselineFailed(f"the reference failed: {error}") from None

    def _peer(self, side: str) -> Peer:
        if side not in self._peers:
            raise PeerGone
        return self._peers[side]


_OPERATIONS: dict[str, Callable[[JudgeRank, Message], Message]] = {
    "setup": JudgeRank._setup,
    "attach": JudgeRank._attach,
    "trial": JudgeRank._trial,
    "begin": JudgeRank._begin,
    "block": JudgeRank._block,
    "series": JudgeRank._series,
    "profile": JudgeRank._profile,
    "peak": JudgeRank._peak,
}


def _copying_ns(header: Message) -> int:
    """The longest that a result of the CPU with this header may take to copy; GPUs put theirs in order themselves."""
    if header["t"] == "tensor" and header["device"] == "cpu":
        return _STRIDED_NS * math.prod(header["shape"]) * DTYPES[header["dtype"]].itemsize
    return sum(map(_copying_ns, header.get("items", ())))


def _report(difference: Difference) -> Message:
    return {
        "status": "ok" if difference.passes else "wrong",
        "max_abs": difference.max_abs,
        "max_rel": difference.max_rel,
        "ratio": difference.ratio,
        "first_bad": difference.first_bad,
        "expected": difference.expected,
        "got": difference.got,
        "near": difference.near,
        "detail": difference.detail,
    }


def _forms(tensors: Any) -> list[Any]:
    """Shape and dtype of each tensor; what a rank sent may be anything."""
    if not isinstance(tensors, (tuple, list)):
        return [None]
    return [(leaf.shape, leaf.dtype) if isinstance(leaf, torch.Tensor) else None for leaf in tensors]
