"""What the session store gives back: plain frozen data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from workbench.events import ProposalOutcome, Ratio, Status


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One judged source version. Times are milliseconds, ``started`` is seconds since the epoch."""

    id: int
    sitting: str
    """The run of pkwb that made it."""
    number: int
    """Counts from 1 within its sitting."""
    problem: str
    """The problem's stem."""
    backend: str
    path: str
    digest: str
    started: float
    status: Status
    reason: str
    speedup: Ratio | None
    candidate_ms: float | None
    reference_ms: float | None
    gbps: float | None
    world: int
    size: str
    dtype: str
    device: str
    manner: str
    """How calls were timed where that is out of the ordinary, such as ``protocol pkb`` or ``graph``; else empty."""
    note: str
    model: str = ""
    """The language model that proposed it; empty where a person wrote it."""
    proposal: int | None = None
    """The id of the proposal that it is."""

    def name(self, sitting: str) -> str:
        """``#3`` within its own sitting, ``id 57`` seen from any other, whose numbers start anew."""
        return f"#{self.number}" if self.sitting == sitting else f"id {self.id}"


@dataclass(frozen=True)
class Proposed:
    """Which proposal of which model an attempt is."""

    model: str
    id: int


@dataclass(frozen=True, kw_only=True)
class RunFacts:
    """What is the same for all samples of a model's run."""

    problem: str
    """The problem's stem."""
    backend: str
    model: str
    feedback: str
    world: int
    size: str
    dtype: str
    device: str
    hardware: str
    """What the ranks run on, for example ``2 × H200``; empty where it is not known."""


@dataclass(frozen=True, kw_only=True)
class Solve(RunFacts):
    """One run of a model on a problem: samples, each a conversation of proposals and what was said of them."""

    name: str
    started: float
    state: Literal["running", "stopped", "finished"]
    """``running`` without a process that runs it: it was killed, and can be resumed as one that was stopped."""
    reason: str
    options: Mapping[str, Any]
    """The settings that it runs under, by section: ``llm`` and ``run``."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """One reply of a model, and what it was told of it."""

    id: int
    run: str
    sample: int
    step: int
    started: float
    outcome: ProposalOutcome
    prompt: str
    """Hex SHA-256 of the conversation that it answers."""
    tokens_in: int
    tokens_out: int
    cost: float | None
    seconds: float
    sent: tuple[Mapping[str, str], ...]
    """The messages that were new to the model."""
    reply: str
    answer: str | None
    """What the model is told next; None as long as nothing was judged."""


@dataclass(frozen=True, kw_only=True)
class Outcome(RunFacts):
    """One step of one sample as scores count it."""

    run: str
    manner: str
    required: str
    """The way to move data that was asked for; empty where none was."""
    sample: int
    step: int
    status: str
    """The verdict's status; the proposal's outcome where nothing was judged."""
    speedup: float | None
    low: float | None
    """The lower end of the speedup's interval."""


@dataclass(frozen=True, kw_only=True)
class Sitting:
    """One run of pkwb, summed up."""

    name: str
    problem: str
    """The problem's stem."""
    started: float
    ended: float
    attempts: int
    ok: int
    best: float | None
    """Highest median speedup of its ok attempts."""


@dataclass(frozen=True)
class Standing:
    """What is known of a problem from all sittings."""

    best: Attempt | None = None
    """The fastest ok attempt; where there is none, the newest one that was judged."""
    opened: float | None = None
    """When it was opened last, seconds since the epoch."""
