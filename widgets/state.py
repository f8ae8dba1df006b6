"""What the panes show, as one frozen value, and the pure function that takes it from event to event."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from functools import singledispatch

from widgets.attempt import AttemptView, RankRow
from widgets.conversation import Conversation
from widgets.output import Output
from workbench.events import (
    Bandwidth,
    Diagnostic,
    Event,
    FirstVerdict,
    Log,
    Notice,
    PhaseChanged,
    RanksReady,
    RankStack,
    RankVerdict,
    Ratio,
    SourceSeen,
    Status,
    Telemetry,
    TimingProgress,
    Verdict,
    WatchChanged,
)

KEEP_NOTICES = 50
KEEP_SPEEDUPS = 200

_ENDED_BY_VERDICT = (PhaseChanged, RankVerdict, FirstVerdict, TimingProgress, Bandwidth, Verdict)
_OF_AN_ATTEMPT = (*_ENDED_BY_VERDICT, Diagnostic, RankStack)


@dataclass(frozen=True, kw_only=True)
class Speed:
    """The speedup of one finished attempt."""

    number: int
    ratio: Ratio


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One rank's row as it is shown; ``stale``: it belongs to the last good attempt, not to the current one."""

    row: RankRow
    stale: bool


@dataclass(frozen=True, kw_only=True)
class RunView:
    """All that panes show.

    ``good`` is the last finished attempt with verdict ok. It stays on screen, dimmed, until the current attempt has
    figures of its own; ``before`` is the good attempt before it, which differences are taken against.
    """

    current: AttemptView = field(default_factory=AttemptView)
    good: AttemptView | None = None
    before: AttemptView | None = None
    best: Speed | None = None
    record: Speed | None = None
    """The best of earlier sittings under the same conditions; its number is the attempt's id in the session store."""
    speedups: tuple[Speed, ...] = ()
    output: Output = field(default_factory=Output)
    ready: RanksReady | None = None
    seen: SourceSeen | None = None
    watch: WatchChanged | None = None
    telemetry: Telemetry | None = None
    notices: tuple[Notice, ...] = ()
    talk: Conversation = field(default_factory=Conversation)
    """What was said with a language model."""

    @property
    def attempt(self) -> int:
        """Number of the current attempt, 0 before the first."""
        return self.current.number

    @property
    def saved(self) -> float:
        """When the source of the current attempt was seen, seconds since the epoch."""
        return self.current.saved

    @property
    def busy(self) -> bool:
        """Whether an attempt runs."""
        return self.current.number > 0 and not self.current.finished

    @property
    def status(self) -> Status | None:
        """Status of the current attempt once it is known, the first verdict's while more trials follow."""
        if self.current.verdict is not None:
            return self.current.verdict.status
        return self.current.first.status if self.current.first else None

    @property
    def measured(self) -> tuple[AttemptView | None, bool]:
        """The attempt whose speed is shown, and whether it is stale: not the current one."""
        if self.current.speedup is not None:
            return self.current, False
        return self.good, self.good is not None and self.good.number != self.current.number

    @property
    def baseline(self) -> Speed | None:
        """The good speed that the shown one is compared with."""
        shown, _ = self.measured
        itself = shown is not None and self.good is not None and shown.number == self.good.number
        other = self.before if itself else self.good
        return Speed(number=other.number, ratio=other.speedup) if other and other.speedup else None

    def rows(self, world: int) -> tuple[Shown, ...]:
        """One row for each rank: the current attempt's, or the last good one's while that rank has not been judged."""
        world = max(world, *(row.rank + 1 for row in self.current.ranks)) if self.current.ranks else world
        return tuple(self._shown(rank) for rank in range(world))

    def _shown(self, rank: int) -> Shown:
        row = self.current.row(rank)
        old = self.good.row(rank) if self.good else row
        replaced = self.current.finished and bool(self.current.ranks)
        if row.status is not None or old.status is None or replaced:
            return Shown(row=row, stale=False)
        return Shown(row=old, stale=True)


def reduce(view: RunView, event: Event) -> RunView:
    """The view after one more event.

    Never raises, whatever the order. Events of an attempt that has been superseded change nothing, nor does what
    arrives for an attempt after its verdict, other than output, stacks and diagnostics.
    """
    if (talk := view.talk.after(event)) is not view.talk:
        view = replace(view, talk=talk)
    if isinstance(event, SourceSeen) and not event.changed:
        return replace(view, seen=event)
    if 0 < event.attempt < view.current.number or (event.attempt == 0 and isinstance(event, _OF_AN_ATTEMPT)):
        return view
    if event.attempt > view.current.number:
        view = _begin(view, event)
    if view.current.finished and isinstance(event, _ENDED_BY_VERDICT):
        return view
    return _apply(event, view)


def clock(seconds: float) -> str:
    """Local time of day, ``12:03:04``."""
    return time.strftime("%H:%M:%S", time.localtime(seconds))


def _begin(view: RunView, event: Event) -> RunView:
    """A new attempt; a save that was seen without a number just before is its source."""
    seen = view.seen if view.seen and view.seen.changed and view.seen.time > view.current.saved else event
    origin = event.origin if isinstance(event, SourceSeen) else "pane"
    current = AttemptView(number=event.attempt, saved=seen.time, origin=origin)
    return replace(view, current=current, output=view.output.attempt(event.attempt, clock(seen.time)))


@singledispatch
def _apply(event: Event, view: RunView) -> RunView:
    """Kinds of events that no pane shows change nothing."""
    return view


@_apply.register
def _source_seen(event: SourceSeen, view: RunView) -> RunView:
    return replace(view, seen=event)


@_apply.register
def _watch_changed(event: WatchChanged, view: RunView) -> RunView:
    return replace(view, watch=event)


@_apply.register
def _ranks_ready(event: RanksReady, view: RunView) -> RunView:
    return replace(view, ready=event)


@_apply.register
def _telemetry(event: Telemetry, view: RunView) -> RunView:
    return replace(view, telemetry=event)


@_apply.register
def _notice(event: Notice, view: RunView) -> RunView:
    return replace(view, notices=(*view.notices, event)[-KEEP_NOTICES:])


@_apply.register
def _phase_changed(event: PhaseChanged, view: RunView) -> RunView:
    return replace(view, current=view.current.with_phase(event))


@_apply.register
def _diagnostic(event: Diagnostic, view: RunView) -> RunView:
    return replace(view, current=view.current.with_diagnostic(event))


@_apply.register
def _rank_verdict(event: RankVerdict, view: RunView) -> RunView:
    return replace(view, current=view.current.with_rank(event))


@_apply.register
def _first_verdict(event: FirstVerdict, view: RunView) -> RunView:
    return replace(view, current=replace(view.current, first=event))


@_apply.register
def _timing_progress(event: TimingProgress, view: RunView) -> RunView:
    return replace(view, current=view.current.with_timing(event))


@_apply.register
def _bandwidth(event: Bandwidth, view: RunView) -> RunView:
    return replace(view, current=replace(view.current, bandwidth=event))


@_apply.register
def _rank_stack(event: RankStack, view: RunView) -> RunView:
    output = view.output.stack(event.rank, event.words, event.stack)
    return replace(view, current=view.current.with_stack(event), output=output)


@_apply.register
def _log(event: Log, view: RunView) -> RunView:
    return replace(view, output=view.output.write(event.rank, event.stream, event.text))


@_apply.register
def _verdict(event: Verdict, view: RunView) -> RunView:
    """The last word; a good attempt becomes the one that stays on screen."""
    current = view.current.with_verdict(event)
    if not current.good:
        return replace(view, current=current)
    view = replace(view, current=current, good=current, before=view.good)
    return view if current.speedup is None else _timed(view, Speed(number=current.number, ratio=current.speedup))


def _timed(view: RunView, speed: Speed) -> RunView:
    best = view.best if view.best and view.best.ratio.median >= speed.ratio.median else speed
    return replace(view, best=best, speedups=(*view.speedups, speed)[-KEEP_SPEEDUPS:])
