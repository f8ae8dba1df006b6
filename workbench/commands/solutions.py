"""A folder of candidates: which files belong to which problem, and the table of what became of them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from problems.loader import catalogue, find_entry
from workbench.config import Settings
from workbench.errors import UsageError
from workbench.report import not_timed_text, reason_text, safe, speedup_line
from workbench.tables import table

ALL = "all"
_LONGEST = 60
_HEAD = ("file", "status", "trials", "speedup", "ms", "reason")


@dataclass(frozen=True)
class Result:
    """What became of one file."""

    file: Path
    verdict: dict[str, Any]
    """A verdict in its JSON form."""

    @property
    def status(self) -> str:
        """The verdict's status."""
        return str(self.verdict["status"])


def find_work(problem: str, folder: Path, settings: Settings) -> list[tuple[str, list[Path]]]:
    """The stems of problems with their files in ``folder`` and the folders in it; of every problem with ``all``.

    A file belongs to a problem when its name is the problem's stem, or goes on after it with ``_``, ``-`` or ``.``.
    Raises UsageError when there is no such folder, no such file or no such problem.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; --solutions takes a folder of Python files")
    entries = catalogue(settings.problems.paths, settings.problems.pkb)
    chosen = entries if problem == ALL else [find_entry(problem, entries)]
    files = sorted([*folder.glob("*.py"), *folder.glob("*/*.py")])
    work = [(entry.stem, [file for file in files if _belongs(file, entry.stem)]) for entry in chosen]
    found = [(stem, own) for stem, own in work if own]
    if not found:
        wanted = "<problem>" if problem == ALL else chosen[0].stem
        raise UsageError(f"{folder} holds no file named {wanted}_<anything>.py, at its top or one folder below")
    return found


def summary_lines(results: Sequence[Result]) -> list[str]:
    """One row a file, then the counts by status."""
    rows = [tuple(safe(list(_row(result)))) for result in results]
    return [*table(_HEAD, rows, right=(4,)), "", _counts(results)]


def summary_record(results: Sequence[Result]) -> dict[str, Any]:
    """The last line of ``pkwb eval --solutions --json``."""
    keys = (
        "problem",
        "status",
        "reason",
        "trials_passed",
        "trials",
        "speedup",
        "candidate_ms",
        "reference_ms",
        "protocol",
        "graph",
    )
    rows = [{"file": str(one.file), **{key: one.verdict[key] for key in keys}} for one in results]
    return {"event": "summary", "counts": _by_status(results), "candidates": rows}


def _belongs(file: Path, stem: str) -> bool:
    return re.fullmatch(rf"{re.escape(stem)}(?:[_.-].*)?", file.stem) is not None


def _row(result: Result) -> Iterable[str]:
    verdict = result.verdict
    time = verdict["candidate_ms"]
    reason = reason_text(verdict["reason"]) if result.status != "ok" else not_timed_text(verdict)
    return (
        f"{result.file.parent.name}/{result.file.name}",
        result.status,
        f"{verdict['trials_passed']}/{verdict['trials']}" if verdict["trials"] else "",
        speedup_line(verdict),
        f"{time['median']:.3f}" if time else "",
        reason if len(reason) <= _LONGEST else f"{reason[: _LONGEST - 1]}…",
    )


def _by_status(results: Sequence[Result]) -> dict[str, int]:
    statuses = [result.status for result in results]
    return {status: statuses.count(status) for status in sorted(set(statuses))}


def _counts(results: Sequence[Result]) -> str:
    counts = ", ".join(f"{count} {status}" for status, count in _by_status(results).items())
    return f"{len(results)} candidate{'s' if len(results) != 1 else ''}: {counts}"
