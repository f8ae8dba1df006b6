"""Extensions that are built, and what compilers and Python say of the file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.events.base import Event

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
