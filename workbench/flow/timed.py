"""The timing of one attempt: the way it is done, what is told of it live, and what the verdict has of it."""

from __future__ import annotations

import contextlib
import dataclasses
import time
from collections.abc import Awaitable, Callable, Sequence

from workbench.events import Bandwidth, Event, TimingProgress
from workbench.flow.busy import Busy
from workbench.flow.context import Context
from workbench.flow.figures import Yardstick, bandwidth_event
from workbench.flow.protocol import NO_GRAPHS, STALL_TIMES, Series, SeriesSampler
from workbench.flow.reports import not_captured_flags, samples_ms
from workbench.flow.sampling import Calls, Sampler, SamplingPlan
from workbench.flow.sets import CandidateSet
from workbench.judge.conditions import with_causes
from workbench.judge.floors import look_flags, too_fast
from workbench.judge.manner import begins_cold
from workbench.judge.pitch import Pitches
from workbench.ranks.channel import Message

Ask = Callable[[Message, float, float], Awaitable[list[Message]]]
"""All judges' answers to a request, within so many seconds, of which so many without an answer are no stall."""


class Timing:
    """Times the ranks of a candidate against those of the reference."""

    def __init__(
        self, context: Context, held: Yardstick, candidates: CandidateSet, ask: Ask, emit: Callable[[Event], None]
    ) -> None:
        self._context = context
        self._held = held
        self._candidates = candidates
        self._ask = ask
        self._emit = emit
        self._busy = Busy(candidates.pids if context.target.device == "cpu" else ())
        self._sampler: Sampler | SeriesSampler | None = None
        self._not_captured: tuple[str, ...] = ()
        self._watched: tuple[str, ...] = ()
        self._ends = 0.0
        self.figures: TimingProgress | None = None
        """The newest; None before the first samples."""
        self.bandwidth: Bandwidth | None = None
        """By those figures; None where the problem's bytes are not known."""

    async def run(self) -> None:
        """Take all samples. Raises Mismatch when a timed call was wrong, and what ``ask`` raises."""
        run, limits = self._context.settings.run, self._context.settings.limits
        graph = run.graph and run.protocol == "pkwb"
        begin = {"op": "begin", "number": next(self._context.numbers), "graph": graph}
        self._sampler = self._make_sampler(await self._ask(begin, limits.run, 0.0))
        self._ends = time.monotonic() + limits.time
        self._watched = await self._context.watch.before()
        await self._sampler.run()
        self._watched += await self._context.watch.after()
        if self.figures:
            self.figures = self._flagged(self.figures)

    def doubt(self) -> str:
        """Why the figures cannot be right; empty where nothing speaks against them."""
        if self._sampler and self._sampler.clocks_disagree():
            return "the ranks claim far less time than the judge's own clock leaves room for"
        return too_fast(self.figures.candidate_ms, self.figures.reference_ms, self._held.floor) if self.figures else ""

    def samples_ms(self, side: str) -> tuple[tuple[float, ...], ...]:
        """Every sample of the ``candidate`` or the ``baseline``, by rank."""
        if self._sampler is None:
            return ()
        sampled = self._sampler.candidate if side == "candidate" else self._sampler.reference
        return samples_ms(sampled.by_rank())

    def _make_sampler(self, begun: Sequence[Message]) -> Sampler | SeriesSampler:
        """Which way of timing, by the settings and by what the judges' answers to ``begin`` allow."""
        run, device = self._context.settings.run, self._context.target.device
        if run.protocol == "pkb":
            self._not_captured = (NO_GRAPHS,) if run.graph else ()
            return SeriesSampler(self._ask_series, run.trials, self._context.settings.limits.time, self._progress)
        self._not_captured = not_captured_flags(begun)
        plan = SamplingPlan(
            samples=run.samples,
            device=device,
            limit_s=self._context.settings.limits.time,
            cold=begins_cold(run.cache, device),
            graph=run.graph and not self._not_captured,
            most_mhz=min(answer["most_mhz"] for answer in begun),
            pitches=Pitches(self._context.pitch_ns, self._candidates.pitch_ns),
        )
        return Sampler(self._ask_block, plan, self._progress)

    async def _ask_block(self, calls: Calls) -> list[Message]:
        with self._busy.reference_runs() if calls.side == "baseline" else contextlib.nullcontext():
            return await self._ask(calls.request, self._left(), 0.0)

    async def _ask_series(self, series: Series) -> list[Message]:
        return await self._ask(series.request, self._left(), STALL_TIMES * series.expected_s)

    def _left(self) -> float:
        return max(0.0, self._ends - time.monotonic())

    def _progress(self, figures: TimingProgress) -> None:
        more = (*self._busy.flags(), *self._not_captured, *look_flags(figures.speedup))
        figures = self._flagged(dataclasses.replace(figures, flags=(*figures.flags, *more)))
        self.figures = figures
        self.bandwidth = bandwidth_event(self._context.target, figures, self._held)
        self._emit(figures)
        if self.bandwidth is not None:
            self._emit(self.bandwidth)

    def _flagged(self, figures: TimingProgress) -> TimingProgress:
        """With what the driver told about the GPUs."""
        return dataclasses.replace(figures, flags=with_causes(figures.flags, self._watched))
