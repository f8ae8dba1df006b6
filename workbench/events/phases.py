"""An attempt from the save to its ranks: the source, the ranks that take it, the phases it goes through."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.events.base import Event

Origin = Literal["pane", "disk", "start", "manual", "eval", "model"]
Phase = Literal["build", "start", "load", "check", "time"]
"""Stages of an attempt in their order: see the source, ranks ready, import it, judge its results, time it."""
PHASES: tuple[Phase, ...] = ("build", "start", "load", "check", "time")


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
    gone: bool = False
    """Whether there is no file any more at the path, and has not been for a second."""


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
    """A stage of the attempt started, finished, failed or was stopped by the user; ``elapsed_ms`` is 0 at the start."""

    phase: Phase
    state: Literal["started", "finished", "failed", "stopped"]
    elapsed_ms: float = 0.0
    detail: str = ""
