"""Between store rows and the frozen records of :mod:`sessions.model`."""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING, Any

from sessions.model import Attempt, Sitting
from workbench.events import Ratio, Verdict
from workbench.judge.manner import manner

if TYPE_CHECKING:
    from workbench.target import Source, Target

ATTEMPT_COLUMNS = (
    "id, sitting, number, problem, backend, path, digest, started, status, reason, speedup, speedup_low, speedup_high, "
    "candidate_ms, reference_ms, gbps, world, size, dtype, device, manner, note, model, "
    "proposal"
)
SAY_NOTHING = "('superseded', 'cancelled', 'infra', 'unknown')"
"""Endings that say nothing about the kernel, as SQL lists them."""
EDITED = "edited"
"""The note of an attempt at a model's proposal that the user has changed; the verdict is not the model's."""
SITTING_COLUMNS = (
    "sitting AS name, max(problem) AS problem, min(started) AS started, max(ended) AS ended, count(*) AS attempts, "
    "sum(status = 'ok') AS ok, max(CASE WHEN status = 'ok' THEN speedup END) AS best"
)


def attempt_values(target: Target, source: Source, verdict: Verdict, started: float) -> dict[str, Any]:
    """The columns of one attempt, without id, sitting and verdict."""
    timed = verdict.cache is not None
    return {
        "number": verdict.attempt,
        "problem": target.problem.stem,
        "backend": target.backend,
        "path": str(source.path),
        "digest": source.digest,
        "started": started,
        "ended": verdict.time,
        "status": verdict.status,
        "reason": verdict.reason,
        "world": target.world,
        "size": target.binding.size,
        "dtype": target.binding.dtype,
        "device": target.device,
        "manner": manner(verdict.protocol, verdict.graph, verdict.cache == "cold", target.device) if timed else "",
        **_figures(verdict),
    }


def _figures(verdict: Verdict) -> dict[str, float | None]:
    speedup = verdict.speedup
    return {
        "speedup": speedup.median if speedup else None,
        "speedup_low": speedup.low if speedup else None,
        "speedup_high": speedup.high if speedup else None,
        "candidate_ms": verdict.candidate_ms.median if verdict.candidate_ms else None,
        "reference_ms": verdict.reference_ms.median if verdict.reference_ms else None,
        "gbps": verdict.bandwidth.gbps if verdict.bandwidth else None,
    }


def to_attempt(row: sqlite3.Row) -> Attempt:
    """A row of ATTEMPT_COLUMNS."""
    values = dict(row)
    low, high = values.pop("speedup_low"), values.pop("speedup_high")
    median = values.pop("speedup")
    speedup = None if median is None else Ratio(median=median, low=low, high=high)
    return Attempt(speedup=speedup, **values)


def to_sitting(row: sqlite3.Row) -> Sitting:
    """A row of SITTING_COLUMNS."""
    return Sitting(**dict(row))
