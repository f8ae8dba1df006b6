"""The agent loop: each step, and its end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.events.base import Event
from workbench.events.timing import Ratio


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
    doubt: str = ""
    """Where the source and what ran in the profiled call do not agree about that."""
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
    doubt: str = ""
    spent_usd: float = 0.0
    tokens: int = 0
    own_seconds: float = 0.0
    """Time of the loop itself, without the model's and the judging."""
