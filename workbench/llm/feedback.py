"""What a model is told of an attempt, in three levels: errors, whether a target is reached, or every figure."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from widgets.output import user_frames
from workbench.events import (
    Diagnostic,
    Event,
    Log,
    RankStack,
    RankVerdict,
    Ratio,
    Verdict,
    to_dict,
)
from workbench.llm.private import private
from workbench.llm.templates import Templates
from workbench.profile_text import ran_lines, rank_lines
from workbench.report import progress_lines, safe, speedup_text, verdict_lines

LEVELS = ("errors", "threshold", "full")
_LOG_LINES = 40
"""Last lines of each rank's output that are told."""
_MOST_LINES = 60
"""Lines of one section that are told."""
_WIDEST = 240
"""Characters of one line that are told."""
_FIGURES: Mapping[str, Any] = {
    "speedup": None,
    "candidate_ms": None,
    "reference_ms": None,
    "bandwidth": None,
    "skew": None,
    "cache": None,
    "flags": (),
    "phases_ms": {},
    "builds": (),
}
"""Parts of a verdict that only the level ``full`` tells, and what stands in their place otherwise."""


@dataclass(frozen=True)
class Context:
    """What the run adds to an attempt's own events."""

    level: str
    target: float = 0.0
    """The speedup that is wanted; 0 = none, then the level ``threshold`` holds it against 1."""
    best: str = ""
    breach: str = ""
    repeated: bool = False


class Collected:
    """The events of one attempt, bounded: the last lines of output, everything else as it came."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._output: dict[int, deque[str]] = {}

    def take(self, event: Event) -> None:
        """Add an event of the attempt."""
        if isinstance(event, Log):
            lines = self._output.setdefault(event.rank, deque(maxlen=_LOG_LINES))
            lines.extend(event.text.splitlines())
        elif isinstance(event, _TOLD):
            self.events.append(event)

    @property
    def output(self) -> dict[int, list[str]]:
        """The last lines of each rank's output."""
        return {rank: list(lines) for rank, lines in sorted(self._output.items()) if lines}

    def of(self, kind: type[Event]) -> list[Any]:
        """The events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]


_TOLD = (Diagnostic, RankStack, RankVerdict)


def feedback_text(verdict: Verdict, collected: Collected, context: Context, templates: Templates) -> str:
    """The next message to the model, without names of the user's machine and folders."""
    found = to_dict(verdict)
    full = context.level == "full"
    shown = found if full else _without_figures(found)
    facts = {
        "level": context.level,
        "verdict": verdict_lines({**shown, "profile": None}),  # it has a section of its own
        "target_words": "" if context.level == "errors" else _target_words(verdict.speedup, context.target, full),
        "sections": [section for section in _sections(verdict, collected, full) if section["lines"]],
        "breach": context.breach,
        "repeated": context.repeated,
        "best": context.best if full else "",
        "right": verdict.status == "ok",
        "binding": _binding(verdict) if full else "",
    }
    return private(templates.render("feedback.md", facts))


def no_code_text(outcome: str, reason: str, templates: Templates) -> str:
    """The next message after a reply that holds no whole file."""
    return templates.render("no_code.md", {"outcome": outcome, "reason": reason})


def _without_figures(verdict: dict[str, Any]) -> dict[str, Any]:
    ranks = [{**rank, "time_ms": None} for rank in verdict["ranks"]]
    return {**verdict, **_FIGURES, "ranks": ranks, "not_timed": ""}


def _target_words(speedup: Ratio | None, target: float, full: bool) -> str:
    """Whether the target is reached; the lower end of the interval decides, so that luck does not."""
    if speedup is None or (full and not target):
        return ""
    wanted = target or 1.0
    reached = "reached" if speedup.sure >= wanted else "not reached"
    return f"Target of {wanted:g} times the reference's speed: {reached}."


def _binding(verdict: Verdict) -> str:
    floor = verdict.bandwidth.floor if verdict.bandwidth else None
    return floor.binding if floor else ""


def _sections(verdict: Verdict, collected: Collected, full: bool) -> list[dict[str, Any]]:
    return [
        {"title": title, "lines": _bounded(safe(lines(verdict, collected)))}
        for title, only_full, lines in _SECTIONS
        if full or not only_full
    ]


def _bounded(lines: list[str]) -> list[str]:
    lines = [line if len(line) <= _WIDEST else f"{line[:_WIDEST]} ..." for line in lines]
    if len(lines) <= _MOST_LINES:
        return lines
    half = _MOST_LINES // 2
    return [*lines[:half], f"... {len(lines) - 2 * half} lines left out ...", *lines[-half:]]


def _messages(verdict: Verdict, collected: Collected) -> list[str]:
    found = (event for event in collected.of(Diagnostic) if event.severity == "error")
    return [line for event in found for line in progress_lines(event)]


def _wrong_elements(verdict: Verdict, collected: Collected) -> list[str]:
    return [
        f"rank {event.rank}, trial {event.trial + 1}: {event.first_bad}: expected {event.expected}, got {event.got}"
        for event in _wrong(collected)
    ]


def _neighbours(verdict: Verdict, collected: Collected) -> list[str]:
    return [f"rank {event.rank}: {event.near}" for event in _wrong(collected) if event.near]


def _wrong(collected: Collected) -> list[RankVerdict]:
    found = (event for event in collected.of(RankVerdict) if event.status == "wrong" and event.first_bad)
    return sorted(found, key=lambda event: event.rank)


def _stacks(verdict: Verdict, collected: Collected) -> list[str]:
    """Where each rank stands, without pkwb's own frames; ranks that stand alike are told once."""
    newest = {event.rank: event for event in collected.of(RankStack)}
    return _by_rank({rank: (event.words, *user_frames(event.stack)) for rank, event in newest.items()})


def _output(verdict: Verdict, collected: Collected) -> list[str]:
    """The ranks' last lines, told once for ranks that printed the same; nothing where the result is right."""
    if verdict.status == "ok":
        return []
    return _by_rank({rank: tuple(lines) for rank, lines in collected.output.items()})


def _by_rank(found: Mapping[int, tuple[str, ...]]) -> list[str]:
    """Lines under the ranks that they belong to, each set of lines once."""
    alike: dict[tuple[str, ...], list[int]] = {}
    for rank, lines in sorted(found.items()):
        alike.setdefault(lines, []).append(rank)
    return [
        line
        for lines, ranks in alike.items()
        for line in (f"rank {', '.join(map(str, ranks))}:", *(f"  {line}" for line in lines))
    ]


def _kernels(verdict: Verdict, collected: Collected) -> list[str]:
    """What the compiler says of each kernel: registers, shared memory, spills; and its warnings."""
    found = (event for event in collected.of(Diagnostic) if event.severity != "error")
    return list(dict.fromkeys(line for event in found for line in progress_lines(event)))


def _stages(verdict: Verdict, collected: Collected) -> list[str]:
    """Where the time of the profiled call went, by rank."""
    if verdict.profile is None:
        return []
    profile = dataclasses.asdict(verdict.profile)
    return [*rank_lines(profile), *([f"note: {verdict.profile.note}"] if verdict.profile.note else ())]


def _ran(verdict: Verdict, collected: Collected) -> list[str]:
    return ran_lines(dataclasses.asdict(verdict.profile)) if verdict.profile else []


def _calls(verdict: Verdict, collected: Collected) -> list[str]:
    first = "" if verdict.first_call_ms is None else f"first call {verdict.first_call_ms:.3f} ms"
    return list(filter(None, [first]))


_SECTIONS: tuple[tuple[str, bool, Callable[[Verdict, Collected], list[str]]], ...] = (
    ("Errors", False, _messages),
    ("First wrong elements", False, _wrong_elements),
    ("Around them", True, _neighbours),
    ("Where the ranks stand", True, _stacks),
    ("What the ranks printed last", False, _output),
    ("What the compiler says", True, _kernels),
    ("Calls", True, _calls),
    (
        "One more call, under a profiler; kernels of your own count as compute, whatever they do",
        True,
        _stages,
    ),
    ("What ran in it on rank 0, and collectives of other ranks alone", True, _ran),
)
"""Sections with their titles; those marked True belong to the level ``full`` alone."""


def best_words(speedup: Ratio | None, step: int) -> str:
    """``1.34x [1.31, 1.36], your proposal 3``; empty where nothing was right yet."""
    if not step:
        return ""
    return f"{speedup_text(dataclasses.asdict(speedup)) if speedup else 'right, not timed'}, your proposal {step}"
