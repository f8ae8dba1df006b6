"""The one event stream: frozen dataclasses, each with a JSON form.

The app, ``pkwb eval --json``, the session store and the tests consume the same objects. ``attempt`` numbers the
judged source versions of one sitting from 1; 0 means that an event belongs to no attempt. ``time`` is seconds since
the epoch. Times named ``*_ms`` are milliseconds, bytes are bytes, bandwidths are GB/s with GB = 1e9 bytes.
"""

from __future__ import annotations

import dataclasses
import json
import re
import time as _time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

Status = Literal[
    "ok",
    "wrong",
    "build-error",
    "load-error",
    "crash",
    "hang",
    "contract",
    "suspect",
    "infra",
    "superseded",
    "cancelled",
    "unknown",
]
Phase = Literal["build", "start", "load", "check", "time"]
"""Stages of an attempt in their order: see the source, ranks ready, import it, judge its results, time it."""
PHASES: tuple[Phase, ...] = ("build", "start", "load", "check", "time")
Origin = Literal["pane", "disk", "start", "manual", "eval", "model"]


@dataclass(frozen=True, kw_only=True)
class Event:
    """Base of all events."""

    attempt: int = 0
    time: float = field(default_factory=_time.time)


@dataclass(frozen=True, kw_only=True)
class SourceSeen(Event):
    """A save was seen. ``changed`` is false when the content is the one already judged: nothing runs then."""

    path: str
    digest: str
    changed: bool
    origin: Origin


@dataclass(frozen=True, kw_only=True)
class WatchChanged(Event):
    """How the working file is watched from now on, for example after a fall-back to polling."""

    mode: Literal["notify", "poll"]
    path: str
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class RanksReady(Event):
    """A set of candidate ranks stands by, warm."""

    world: int
    device: str
    backend: str
    startup_ms: float
    torch: str = ""


@dataclass(frozen=True, kw_only=True)
class PhaseChanged(Event):
    """A stage of the attempt started, finished or failed; ``elapsed_ms`` is 0 at the start."""

    phase: Phase
    state: Literal["started", "finished", "failed"]
    elapsed_ms: float = 0.0
    detail: str = ""


BUILD_WORDS = {"slim": "quick build", "full": "full build", "": "not built"}
"""The build that a library comes from, as people read it."""


@dataclass(frozen=True, kw_only=True)
class BuildSummary:
    """How one extension of a candidate came about. ``path`` is what this attempt waited for, ``made_by`` the build that
    its library comes from: with the slim headers, or the full one.
    """

    name: str
    path: Literal["slim", "full", "cached", "none"]
    made_by: Literal["slim", "full", ""]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class BuildStarted(Event):
    """An extension is being built, or looked for among those built earlier."""

    name: str


@dataclass(frozen=True, kw_only=True)
class BuildFinished(Event):
    """An extension was built, or could not be: then ``reason`` says why. See :class:`BuildSummary` for the rest.

    ``slim_note`` says why the quick build was not taken, where it was not.
    """

    name: str
    ok: bool
    path: Literal["slim", "full", "cached", "none"]
    made_by: Literal["slim", "full", ""]
    seconds: float
    reason: str = ""
    slim_note: str = ""


@dataclass(frozen=True, kw_only=True)
class Diagnostic(Event):
    """An error or warning with its place in the user's file (line and column count from 1; 0 = unknown)."""

    severity: Literal["error", "warning", "note"]
    message: str
    path: str
    line: int = 0
    column: int = 0
    rank: int | None = None


@dataclass(frozen=True, kw_only=True)
class RankVerdict(Event):
    """What one rank's result of one trial was worth.

    ``first_bad`` names output and index, for example ``out[3, 17]``; ``expected`` and ``got`` are the values there,
    ``near`` tells both for its neighbours.
    Errors are absolute and relative to |reference|; ``error_ratio`` is the largest error over its tolerance
    (at most 1 for ``ok``).
    """

    rank: int
    trial: int
    trials: int
    status: Status
    max_abs_err: float | None = None
    max_rel_err: float | None = None
    error_ratio: float | None = None
    first_bad: str = ""
    expected: str = ""
    got: str = ""
    near: str = ""
    call_ms: float | None = None
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class FirstVerdict(Event):
    """The status after the first trial, while more trials and timing follow; may be revised downwards only."""

    status: Status
    since_save_ms: float


@dataclass(frozen=True, kw_only=True)
class Spread:
    """Median with 10th and 90th percentile, in milliseconds."""

    median: float
    p10: float
    p90: float


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """Speedup over the reference (above 1 = the candidate is faster) with its bootstrap 95% interval."""

    median: float
    low: float
    high: float

    @property
    def differs(self) -> bool:
        """Whether the interval leaves 1 out; otherwise there is no measured difference."""
        return not self.low <= 1.0 <= self.high


Cache = Literal["cold", "warm"]
"""Whether every timed call found the device's caches full of other data, or as the call before left them."""


Protocol = Literal["pkwb", "pkb"]
"""How calls were timed: pkwb's way, or ParallelKernelBench's."""


@dataclass(frozen=True, kw_only=True)
class LaunchTime:
    """Median milliseconds of the host until a call returned, while its work waited in the device's queue."""

    candidate: float
    reference: float


@dataclass(frozen=True, kw_only=True)
class TimingProgress(Event):
    """Live timing; replaces the one before. ``skew`` is the median over samples of (slowest - fastest rank)/slowest.

    ``graph``: calls were replayed from a CUDA graph. ``launch_ms`` and ``clock_mhz``, the median clock of the GPUs'
    multiprocessors over all samples, are None on CPU ranks and where they could not be measured.
    """

    samples: int
    total: int
    candidate_ms: Spread
    reference_ms: Spread
    speedup: Ratio
    rank_ms: tuple[float, ...]
    skew: float
    protocol: Protocol = "pkwb"
    cache: Cache = "warm"
    graph: bool = False
    launch_ms: LaunchTime | None = None
    clock_mhz: float | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Floor:
    """The least time by the roofline of a topology; a term is None where a rate is not known."""

    ms: float | None
    binding: str
    """The term that decides: link, memory, compute or latency; empty when all are 0."""
    terms_ms: dict[str, float | None]
    topology: str
    wire_ms: float = 0.0
    """Time of the needed bytes on this machine's links and beside them, with all that switches can do; 0 = no limit."""
    wire: str = ""
    """The arithmetic of ``wire_ms``."""
    in_network_ms: float | None = None
    """The floor where switches add and multicast, where that makes a difference."""
    what_if: bool = False
    """Whether the topology is another one than that of the ranks."""
    measured: bool = False
    """Whether it rests on a rate measured on these ranks, so that it is no physical limit."""


@dataclass(frozen=True, kw_only=True)
class RankBandwidth:
    """Effective bandwidth of one rank: the bytes it needs over the attempt's median time; shares as in Bandwidth."""

    rank: int
    needed_bytes: float
    gbps: float
    share: float | None
    nominal_gbps: float | None
    nominal_share: float | None


@dataclass(frozen=True, kw_only=True)
class Bandwidth(Event):
    """Effective bandwidth of the rank that needs most: needed bytes over the median time, and what it is held against.

    ``peak_gbps`` is the best rate *measured* between these ranks, ``share`` the part of it that was reached, ``label``
    how it was measured. ``nominal_gbps`` is the one-way rate of that rank's links on paper, ``nominal_share`` the part
    of that, ``nominal_label`` the links; None where no rate on paper is known, as between processes on processors.
    """

    needed_bytes: float
    reference_bytes: float
    gbps: float
    reference_gbps: float
    busbw: float | None
    peak_gbps: float | None
    share: float | None
    label: str
    floor: Floor | None = None
    nominal_gbps: float | None = None
    nominal_share: float | None = None
    nominal_label: str = ""
    ranks: tuple[RankBandwidth, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RankStack(Event):
    """Where one rank stands, taken while it seems stuck: one line for the table, the stack for the log."""

    rank: int
    where: str
    stack: str
    line: int = 0

    @property
    def words(self) -> str:
        """``stands at barrier, kernel.py:77``; where no line of the user's file is known, what is known instead."""
        return f"stands at {self.where}" if self.line else self.where


@dataclass(frozen=True, kw_only=True)
class Log(Event):
    """Output of one rank, in pieces of whole lines where possible."""

    rank: int
    stream: Literal["stdout", "stderr"]
    text: str


@dataclass(frozen=True, kw_only=True)
class RankSummary:
    """One rank's line in the final verdict."""

    rank: int
    status: Status
    max_abs_err: float | None = None
    max_rel_err: float | None = None
    first_bad: str = ""
    detail: str = ""
    time_ms: float | None = None


@dataclass(frozen=True, kw_only=True)
class RankProfile:
    """Where one profiled call's time went on one rank, in ms; ``overlap_ms`` is in compute and in communication."""

    rank: int
    whole_ms: float
    """On a GPU from the beginning of its first work to the end of its last."""
    compute_ms: float
    communication_ms: float
    overlap_ms: float
    gap_ms: float
    """Neither: on a GPU it idles, on processors what is no operator runs."""


RanKind = Literal["collective", "kernel", "operator"]


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What ran in a profiled call on rank 0, by name: how often, and how long together in ms."""

    name: str
    kind: RanKind
    """``collective`` also for messages, ``kernel`` also for copies of a GPU."""
    calls: int
    ms: float


@dataclass(frozen=True, kw_only=True)
class Profile:
    """One call under a profiler, as the candidate's processes tell it; ``note`` says why there is none, or less."""

    ranks: tuple[RankProfile, ...] = ()
    ran: tuple[Ran, ...] = ()
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Verdict(Event):
    """The last word on an attempt; the last line of ``pkwb eval --json``."""

    status: Status
    problem: str
    reason: str
    ranks: tuple[RankSummary, ...]
    trials_passed: int = 0
    trials: int = 0
    speedup: Ratio | None = None
    candidate_ms: Spread | None = None
    reference_ms: Spread | None = None
    first_call_ms: float | None = None
    load_ms: float | None = None
    peak_rss_bytes: int | None = None
    bandwidth: Bandwidth | None = None
    not_timed: str = ""
    """Why there are no times, whatever was asked for: ``2 ranks share a GPU``."""
    skew: float | None = None
    protocol: Protocol = "pkwb"
    cache: Cache | None = None
    graph: bool = False
    launch_ms: LaunchTime | None = None
    clock_mhz: float | None = None
    flags: tuple[str, ...] = ()
    profile: Profile | None = None
    """Where asked for, of a call after all that were timed."""
    phases_ms: dict[str, float] = field(default_factory=dict)
    builds: tuple[BuildSummary, ...] = ()
    candidate_samples_ms: tuple[tuple[float, ...], ...] = ()
    reference_samples_ms: tuple[tuple[float, ...], ...] = ()
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class PeerTraffic:
    """What crossed the NVLinks between two ranks' GPUs since the look before, in GB/s, seen from one of them."""

    rank: int
    """The other rank."""
    sent_gbps: float
    received_gbps: float


LinkCounters = Literal["no links", "absent", "zero", "still", "moving"]
"""What a driver's NVLink counters are worth: absent = it has none, zero = they read 0, as in many virtual machines,
still = they hold something and were not seen to move yet."""


@dataclass(frozen=True, kw_only=True)
class GpuLoad:
    """The GPU of one rank between samples; what the driver does not tell is None."""

    rank: int
    busy_percent: float | None
    """Share of the last moment, up to a second, in which a kernel ran."""
    memory_used_bytes: int
    memory_total_bytes: int
    clock_mhz: float | None
    """Clock of the multiprocessors."""
    power_watts: float | None
    sent_gbps: float | None = None
    """Over its NVLinks since the look before; None unless the driver's counters were seen to move."""
    received_gbps: float | None = None
    counters: LinkCounters = "absent"
    peers: tuple[PeerTraffic, ...] = ()
    """Part of the above by the rank at the other end, where links lead to GPUs and not to a switch."""
    held_by: str | None = None
    """What holds its clocks down, for example ``power, thermal``; empty for nothing, None = not told by the driver."""


@dataclass(frozen=True, kw_only=True)
class Telemetry(Event):
    """The machine between samples, at 1-2 Hz; replaces the one before. ``gpus`` are those of the ranks, by rank."""

    cpu_percent: float
    memory_used_bytes: int
    memory_total_bytes: int
    load: float
    gpus: tuple[GpuLoad, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Notice(Event):
    """Something the user should know that is not about the kernel: a store that failed, ranks that were restarted."""

    severity: Literal["information", "warning", "error"]
    text: str


@dataclass(frozen=True, kw_only=True)
class ProposerChanged(Event):
    """The process that asks language models: ``loading`` takes 4-13 s, ``gone`` says in ``detail`` what happened."""

    state: Literal["loading", "ready", "gone"]
    detail: str = ""
    elapsed_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ProposalStarted(Event):
    """A model is asked. ``sent`` is what is new to it in this conversation, ``prompt`` the hex SHA-256 of all of it."""

    proposal: int
    """Counts the proposals of one sitting from 1."""
    model: str
    sent: str
    prompt: str


@dataclass(frozen=True, kw_only=True)
class ProposalDelta(Event):
    """A piece of a streamed reply; ``thinking`` pieces come before the answer and are no part of it."""

    proposal: int
    text: str
    thinking: bool = False


@dataclass(frozen=True, kw_only=True)
class ProposalWaiting(Event):
    """The provider asked to come back later: in ``seconds`` the request is sent again."""

    proposal: int
    seconds: float
    reason: str


ProposalOutcome = Literal["code", "no-code", "cut-off", "cancelled", "error"]
"""``code``: a whole file that defines solution. ``cut-off``: the reply ended inside it. ``error``: there is none."""
ProposalTrouble = Literal[
    "", "key", "network", "rate", "context", "model", "timeout", "server", "request", "budget", "proposer"
]
"""What kept a reply from coming, where ``outcome`` is ``error``."""


@dataclass(frozen=True, kw_only=True)
class ProposalFinished(Event):
    """A reply is over. ``reason`` says what to do where there is no code; ``code`` is the file that was proposed.

    ``cost_usd`` is None where no price is known; tokens are the provider's count, estimated for a cancelled reply.
    """

    proposal: int
    model: str
    outcome: ProposalOutcome
    trouble: ProposalTrouble = ""
    reason: str = ""
    reply: str = ""
    code: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    first_token_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class SolveStep(Event):
    """The agent loop judged a proposal: what it was worth, the best so far, and what the run has used."""

    run: str
    sample: int
    step: int
    steps: int
    status: str
    """The verdict's status, or the proposal's outcome where nothing could be judged."""
    speedup: Ratio | None = None
    label: str = ""
    """``library``, ``hybrid`` or ``custom``: what the source moves data with."""
    best: Ratio | None = None
    best_sample: int = 0
    best_step: int = 0
    """Which proposal ``best`` belongs to; 0 while none is right."""
    spent_usd: float = 0.0
    tokens: int = 0


SolveEnding = Literal["target", "steps", "budget", "stall", "stopped", "trouble"]
"""Why the agent loop ended; ``stopped`` and ``trouble`` can be resumed."""


@dataclass(frozen=True, kw_only=True)
class SolveFinished(Event):
    """The agent loop's last word; the last line of ``pkwb solve --json``."""

    run: str
    problem: str
    model: str
    ending: SolveEnding
    reason: str
    samples: int
    """Samples that were begun."""
    correct: int
    """Those with at least one right attempt."""
    best: Ratio | None = None
    best_sample: int = 0
    best_step: int = 0
    best_id: int = 0
    """The id of the best attempt in the session store; 0 while none is right."""
    best_digest: str = ""
    """Hex SHA-256 of its source."""
    label: str = ""
    spent_usd: float = 0.0
    tokens: int = 0
    own_seconds: float = 0.0
    """Time of the loop itself, without the model's and the judging."""


LIVE: tuple[type[Event], ...] = (TimingProgress, Telemetry)
"""Events that may be replaced by a newer one of their kind before anybody has seen them. Verdicts never are."""


def event_name(kind: type[Event]) -> str:
    """The name in JSON: ``RankVerdict`` -> ``rank_verdict``."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower()


def to_dict(event: Event) -> dict[str, Any]:
    """An event as plain data, its name first; a verdict also has its two median times together, as ``time_ms``."""
    data = {"event": event_name(type(event)), **dataclasses.asdict(event)}
    if isinstance(event, Verdict):
        sides = {"candidate": event.candidate_ms, "reference": event.reference_ms}
        data["time_ms"] = {side: spread.median if spread else None for side, spread in sides.items()}
    return data


def to_json(event: Event) -> str:
    """One line of JSON; NaN and infinity become null, since JSON has neither."""
    try:
        return json.dumps(to_dict(event), allow_nan=False)
    except ValueError:
        return json.dumps(_finite(to_dict(event)), allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if abs(value) != float("inf") and value == value else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


Sink = Callable[[Event], None]


class EventStream:
    """Hands every event to every subscriber, in order, in the calling thread."""

    def __init__(self) -> None:
        self._sinks: list[Sink] = []

    def subscribe(self, sink: Sink) -> Callable[[], None]:
        """Add a subscriber; call the result to take it away again."""
        self._sinks.append(sink)
        return lambda: self._sinks.remove(sink)

    def emit(self, event: Event) -> None:
        """Deliver one event."""
        for sink in tuple(self._sinks):
            sink(event)
