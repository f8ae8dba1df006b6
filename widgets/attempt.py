"""One attempt as the panes see it: stages, ranks, timing, verdict; each change makes a new frozen value."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from workbench.events import (
    PHASES,
    Bandwidth,
    Diagnostic,
    FirstVerdict,
    Origin,
    Phase,
    PhaseChanged,
    RankStack,
    RankSummary,
    RankVerdict,
    Ratio,
    Spread,
    Status,
    TimingProgress,
    Verdict,
)

KEEP_DIAGNOSTICS = 500


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One stage; ``started`` is seconds since the epoch, 0 while it waits. ``stopped``: the attempt ended within it."""

    phase: Phase
    state: Literal["waiting", "running", "finished", "failed", "stopped"] = "waiting"
    started: float = 0.0
    elapsed_ms: float = 0.0
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class RankRow:
    """One rank's line in the matrix; ``status`` is None until its first result has been judged."""

    rank: int
    status: Status | None = None
    passed: int = 0
    trials: int = 0
    max_abs_err: float | None = None
    max_rel_err: float | None = None
    error_ratio: float | None = None
    first_bad: str = ""
    expected: str = ""
    got: str = ""
    detail: str = ""
    time_ms: float | None = None

    def judged(self, event: RankVerdict) -> RankRow:
        """With one more trial. The first trial that is not ok stays; errors are the largest over the trials."""
        row = replace(
            self,
            passed=self.passed + (event.status == "ok"),
            trials=event.trials,
            max_abs_err=_largest(self.max_abs_err, event.max_abs_err),
            max_rel_err=_largest(self.max_rel_err, event.max_rel_err),
            error_ratio=_largest(self.error_ratio, event.error_ratio),
            time_ms=event.call_ms if event.call_ms is not None else self.time_ms,
        )
        if self.status not in (None, "ok"):
            return row
        return replace(
            row,
            status=event.status,
            first_bad=event.first_bad,
            expected=event.expected,
            got=event.got,
            detail=event.detail,
        )

    def summed_up(self, summary: RankSummary) -> RankRow:
        """With what the final verdict says of this rank, which outranks what was seen live."""
        return replace(
            self,
            status=summary.status,
            max_abs_err=_first(summary.max_abs_err, self.max_abs_err),
            max_rel_err=_first(summary.max_rel_err, self.max_rel_err),
            first_bad=summary.first_bad or self.first_bad,
            detail=summary.detail or self.detail,
            time_ms=_first(summary.time_ms, self.time_ms),
        )


@dataclass(frozen=True, kw_only=True)
class AttemptView:
    """Everything known of one attempt; ``number`` 0 = none yet, ``saved`` is seconds since the epoch."""

    number: int = 0
    saved: float = 0.0
    origin: Origin = "pane"
    """Where its source came from; ``model``: it is not the working file's."""
    stages: tuple[Stage, ...] = tuple(Stage(phase=phase) for phase in PHASES)
    ranks: tuple[RankRow, ...] = ()
    """Ranks that have been heard of, by rank."""
    first: FirstVerdict | None = None
    timing: TimingProgress | None = None
    bandwidth: Bandwidth | None = None
    verdict: Verdict | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    stacks: tuple[RankStack, ...] = ()

    @property
    def finished(self) -> bool:
        """Whether the last word has been said."""
        return self.verdict is not None

    @property
    def good(self) -> bool:
        """Whether it finished and every rank was right."""
        return self.verdict is not None and self.verdict.status == "ok"

    @property
    def running(self) -> Stage | None:
        """The stage that runs now."""
        return next((stage for stage in reversed(self.stages) if stage.state == "running"), None)

    @property
    def trials(self) -> tuple[int, int]:
        """Trials that every rank has passed, and trials in all."""
        if self.verdict is not None and self.verdict.trials:
            return self.verdict.trials_passed, self.verdict.trials
        passed = min((row.passed for row in self.ranks), default=0)
        return passed, max((row.trials for row in self.ranks), default=0)

    @property
    def speedup(self) -> Ratio | None:
        """Final, or live while samples are taken."""
        return self.verdict.speedup if self.verdict is not None else self.timing.speedup if self.timing else None

    @property
    def candidate_ms(self) -> Spread | None:
        """Time of a call of the candidate: final, or live."""
        live = self.timing.candidate_ms if self.timing else None
        return self.verdict.candidate_ms if self.verdict is not None else live

    @property
    def reference_ms(self) -> Spread | None:
        """Time of a call of the reference: final, or live."""
        live = self.timing.reference_ms if self.timing else None
        return self.verdict.reference_ms if self.verdict is not None else live

    def row(self, rank: int) -> RankRow:
        """The row of one rank, a waiting one if nothing has been heard of it."""
        return next((row for row in self.ranks if row.rank == rank), RankRow(rank=rank))

    def with_phase(self, event: PhaseChanged) -> AttemptView:
        """After a stage started or ended; one that starts once more begins the attempt again from there."""
        old = self.stages[PHASES.index(event.phase)]
        if event.state == "started" and old.state != "waiting":
            return self._again(event.phase).with_phase(event)
        state = "running" if event.state == "started" else event.state
        started = event.time if event.state == "started" else old.started
        stage = replace(old, state=state, started=started, elapsed_ms=event.elapsed_ms, detail=event.detail)
        return replace(self, stages=tuple(stage if one.phase == event.phase else one for one in self.stages))

    def with_rank(self, event: RankVerdict) -> AttemptView:
        """After one rank's result of one trial was judged."""
        return self._with_rows([self.row(event.rank).judged(event)])

    def with_timing(self, event: TimingProgress) -> AttemptView:
        """After more samples; the ranks' own times go into the matrix."""
        timed = dict(enumerate(event.rank_ms))
        rows = [replace(row, time_ms=timed.get(row.rank, row.time_ms)) for row in self.ranks]
        return replace(self, timing=event, ranks=tuple(rows))

    def with_verdict(self, event: Verdict) -> AttemptView:
        """After the last word: every rank has a status, no stage runs on."""
        rows = [self.row(summary.rank).summed_up(summary) for summary in event.ranks]
        stages = tuple(replace(one, state="stopped") if one.state == "running" else one for one in self.stages)
        ended = replace(self, verdict=event, stages=stages, bandwidth=event.bandwidth or self.bandwidth)
        return ended._with_rows(rows)

    def with_diagnostic(self, event: Diagnostic) -> AttemptView:
        """After an error, warning or note; said twice, it is listed once, and an error replaces the warning of it."""
        if (doubt := next((one for one in self.diagnostics if _confirms(event, one)), None)) is not None:
            return replace(self, diagnostics=tuple(event if one is doubt else one for one in self.diagnostics))
        same = any(_place(event) == _place(one) and event.rank == one.rank for one in self.diagnostics)
        full = len(self.diagnostics) >= KEEP_DIAGNOSTICS
        return self if same or full else replace(self, diagnostics=(*self.diagnostics, event))

    def with_stack(self, event: RankStack) -> AttemptView:
        """After a rank's stack was taken; a later one replaces it."""
        others = [stack for stack in self.stacks if stack.rank != event.rank]
        return replace(self, stacks=tuple(sorted([*others, event], key=lambda stack: stack.rank)))

    def _again(self, phase: Phase) -> AttemptView:
        """As it was before ``phase``: what the ranks of the try before showed is void."""
        at = PHASES.index(phase)
        stages = (*self.stages[:at], *(Stage(phase=one) for one in PHASES[at:]))
        return replace(self, stages=stages, ranks=(), first=None, timing=None, bandwidth=None, stacks=())

    def _with_rows(self, rows: Iterable[RankRow]) -> AttemptView:
        merged = {row.rank: row for row in (*self.ranks, *rows)}
        return replace(self, ranks=tuple(merged[rank] for rank in sorted(merged)))


def _place(event: Diagnostic) -> tuple[str, str, str, int, int]:
    return event.severity, event.message, event.path, event.line, event.column


def _confirms(event: Diagnostic, doubt: Diagnostic) -> bool:
    """Whether an error is what a warning before it foretold: same place, words added to the same message."""
    same = _place(event)[2:] == _place(doubt)[2:] and event.rank == doubt.rank
    return same and (event.severity, doubt.severity) == ("error", "warning") and doubt.message.startswith(event.message)


def _first(first: float | None, second: float | None) -> float | None:
    return second if first is None else first


def _largest(first: float | None, second: float | None) -> float | None:
    """The larger one; NaN counts as larger than everything."""
    if first is None or second is None:
        return _first(first, second)
    return first if first != first or first >= second else second
