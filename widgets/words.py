"""Words and signs for statuses and stages, in one place; a sign and a word always stand beside the colour."""

from __future__ import annotations

from typing import NamedTuple

from textual.content import Content

from workbench.events import Phase, Status


class Look(NamedTuple):
    """How a status is shown: a sign, and a style from the theme."""

    sign: str
    style: str


STATUS: dict[Status, Look] = {
    "ok": Look("✓", "$text-success"),
    "wrong": Look("✗", "$text-error"),
    "build-error": Look("✗", "$text-error"),
    "load-error": Look("✗", "$text-error"),
    "crash": Look("✗", "$text-error"),
    "hang": Look("∞", "$text-error"),
    "contract": Look("✗", "$text-error"),
    "suspect": Look("?", "$text-warning"),
    "infra": Look("!", "$text-warning"),
    "superseded": Look("»", ""),
    "cancelled": Look("■", ""),
    "unknown": Look("?", "$text-warning"),
}


class StageWords(NamedTuple):
    """A stage while it runs, when it is done, and when it failed."""

    running: str
    finished: str
    failed: str


STAGES: dict[Phase, StageWords] = {
    "build": StageWords("building", "built", "build failed"),
    "start": StageWords("starting ranks", "ranks ready", "ranks not ready"),
    "load": StageWords("loading", "loaded", "load failed"),
    "check": StageWords("checking", "checked", "check failed"),
    "time": StageWords("timing", "timed", "timing failed"),
}

SEVERITY: dict[str, Look] = {
    "error": Look("✗", "$text-error"),
    "warning": Look("!", "$text-warning"),
    "note": Look("·", ""),
    "information": Look("·", ""),
}


def status_text(status: Status | None, waiting: str = "waiting") -> Content:
    """Sign and word of a status; ``waiting`` where there is none yet."""
    if status is None:
        return Content.styled(f"· {waiting}", "dim")
    look = STATUS[status]
    return Content.styled(f"{look.sign} {status}", look.style)
