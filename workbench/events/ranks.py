"""What every rank's results were worth, and what a rank says or where it stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.events.base import Event

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
