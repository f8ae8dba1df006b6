"""One attempt: a source version is loaded on every rank, judged trial by trial, timed, and given its verdict."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Sequence
from functools import partial
from typing import Literal

from workbench.events import (
    Event,
    FirstVerdict,
    Log,
    Phase,
    PhaseChanged,
    Profile,
    RankStack,
    RankSummary,
    RankVerdict,
    Status,
    Verdict,
)
from workbench.flow.building import Building
from workbench.flow.compiled import as_build_error
from workbench.flow.context import Context, Stop
from workbench.flow.figures import Yardstick
from workbench.flow.plan import Trial, draws, trial_plan
from workbench.flow.profiling import profile
from workbench.flow.reports import (
    as_ms,
    call_failed,
    call_ms,
    diagnostics,
    failure_of,
    loading_answer,
    loading_failed,
    raise_infra,
    rank_verdict,
    worst,
)
from workbench.flow.sampling import Mismatch
from workbench.flow.sets import CandidateSet
from workbench.flow.settle import Patience, answers, settle
from workbench.flow.timed import Timing
from workbench.judge.stacks import Standing, standing
from workbench.judge.verdicts import Answer, first_cause, overall, reason
from workbench.judge.verdicts import settle as settle_ranks
from workbench.ranks.channel import Message
from workbench.target import Source

PhaseEnd = Literal["finished", "failed", "stopped"]
_PHASE_ENDS: dict[Status, PhaseEnd] = {"ok": "finished", "cancelled": "stopped", "superseded": "stopped"}
"""How the phase ends in which a verdict comes; for all others it has failed."""


class Attempt:
    """Runs on one set of candidate ranks and ends in a verdict; the set is dead afterwards."""

    def __init__(self, number: int, source: Source, context: Context, seen: float, building: Building) -> None:
        self.number = number
        self._source = source
        self._context = context
        self._seen = seen
        self._building = building
        self._path = str(source.path)
        self._phases: dict[str, float] = {}
        self._phase: Phase | None = None
        self._phase_started = 0.0
        self._ranks: tuple[RankSummary, ...] = ()
        self._passed = 0
        self._first_call_ms: float | None = None
        self._load_ms: float | None = None
        self._timing: Timing | None = None
        self._profile: Profile | None = None
        self._candidates: CandidateSet | None = None

    def emit(self, event: Event) -> None:
        """Put an event of this attempt on the stream."""
        self._context.stream.emit(dataclasses.replace(event, attempt=self.number))

    def enter(self, phase: Phase) -> None:
        """Start a phase."""
        self._phase, self._phase_started = phase, time.perf_counter()
        self.emit(PhaseChanged(phase=phase, state="started"))

    def leave(self, detail: str = "", state: PhaseEnd = "finished") -> None:
        """End the phase that runs, if any."""
        if self._phase is None:
            return
        elapsed = (time.perf_counter() - self._phase_started) * 1e3
        self._phases[self._phase] = elapsed
        self.emit(PhaseChanged(phase=self._phase, state=state, elapsed_ms=elapsed, detail=detail))
        self._phase = None

    async def build(self) -> None:
        """Wait for the extensions that the source will ask for, as far as that is known; Stop when one has errors."""
        if not self._building.expected:
            return
        self.enter("build")
        self._phase_started = self._building.started
        try:
            self.leave(await self._building.finish())
        except Stop as stop:
            self._first(stop.status)
            raise

    async def hand_over(self, candidates: CandidateSet) -> None:
        """Give every rank the source, which none runs yet; LostSetError when a rank is not there to take it."""
        self._candidates = candidates
        candidates.on_log = self._log
        limit = self._context.settings.limits.start
        await candidates.hold(self._source.text, self._path, self._context.target.problem.arguments, limit)

    async def load(self) -> None:
        """Run the source on every rank; Stop when one fails."""
        candidates = self._set
        self.enter("load")
        candidates.attach(self._context.judges)
        candidates.run()
        late = await settle(candidates.loaded, candidates, self._patience(), loading_failed)
        found = [
            loading_answer(answer, future)
            for answer, future in zip(await self._answers(candidates.loaded, late), candidates.loaded)
        ]
        if late or any(answer.report is None or answer.report["status"] != "ok" for answer in found):
            self._stop(found)
        self._load_ms = max(as_ms(future.result().get("ms")) for future in candidates.loaded)
        self.leave()

    async def check(self) -> None:
        """Judge all trials; Stop at the first that fails."""
        self.enter("check")
        plan = trial_plan(self._context.settings.run.trials, self._context.target.problem.scales)
        for index in range(len(plan)):
            await self._trial(index, plan)
            self._passed += 1
            if index == 0:
                self._first("ok")
        self.leave(f"{self._passed}/{len(plan)}")

    async def time(self, held: Yardstick) -> None:
        """Time the candidate against the reference, in the phase that was entered; Stop when a timed call was wrong."""
        self._timing = timing = Timing(self._context, held, self._set, self._ask_all, self.emit)
        try:
            await timing.run()
        except Mismatch as error:
            self._stop(await self._mismatch_answers(error.reports))
        if words := timing.doubt():
            raise Stop("suspect", self._ranks, words)
        if self._context.settings.run.profile:
            self._profile = await profile(self._context, self._set)
        self.leave(f"{timing.figures.samples if timing.figures else 0} samples a side")

    def verdict(self, status: Status, ranks: Sequence[RankSummary], why: str) -> Verdict:
        """The last word, with everything measured so far; timing is void unless the status is ok."""
        self.leave(state=_PHASE_ENDS.get(status, "failed"))
        timing = self._timing if status == "ok" else None
        timed = timing.figures if timing else None
        return Verdict(
            attempt=self.number,
            status=status,
            problem=self._context.target.problem.stem,
            reason=why,
            ranks=tuple(ranks) or self._ranks,
            trials_passed=self._passed,
            trials=self._context.settings.run.trials,
            speedup=timed.speedup if timed else None,
            candidate_ms=timed.candidate_ms if timed else None,
            reference_ms=timed.reference_ms if timed else None,
            first_call_ms=self._first_call_ms,
            load_ms=self._load_ms,
            peak_rss_bytes=self._candidates.peak_rss() if self._candidates else None,
            bandwidth=timing.bandwidth if timing else None,
            not_timed=self._context.target.not_timed,
            skew=timed.skew if timed else None,
            protocol=timed.protocol if timed else self._context.settings.run.protocol,
            cache=timed.cache if timed else None,
            graph=timed.graph if timed else False,
            launch_ms=timed.launch_ms if timed else None,
            clock_mhz=timed.clock_mhz if timed else None,
            flags=timed.flags if timed else (),
            profile=self._profile,
            phases_ms=dict(self._phases),
            builds=tuple(self._building.summaries),
            candidate_samples_ms=timing.samples_ms("candidate") if timing else (),
            reference_samples_ms=timing.samples_ms("baseline") if timing else (),
            environment=self._context.environment,
        )

    def ok(self) -> Verdict:
        """The verdict of an attempt that passed everything."""
        timed = self._timing.figures if self._timing else None
        times = timed.rank_ms if timed else (None,) * self._world
        ranks = [dataclasses.replace(rank, time_ms=ms) for rank, ms in zip(self._ranks, times)]
        return self.verdict("ok", ranks, "")

    @property
    def _world(self) -> int:
        return self._context.target.world

    async def _trial(self, index: int, plan: Sequence[Trial]) -> None:
        count = len(plan)
        message = {"op": "trial", **draws(next(self._context.numbers), index, plan, self._context.is_timed)}
        futures = self._context.judges.ask([message] * self._world)
        shown: set[int] = set()
        show = partial(self._show_at_once, index, count, shown)
        late = await settle(futures, self._set, self._patience(), call_failed, show)
        raise_infra(futures)
        found = await self._answers(futures, late)
        ranks = settle_ranks(found)
        for summary, answer in zip(ranks, found):
            if summary.rank not in shown:
                self.emit(self._judged(summary, answer, index, count))
        self._note_first_call(index, found)
        self._ranks = worst(self._ranks, ranks)
        if overall(ranks) != "ok":
            self._stop(found)

    def _show_at_once(self, index: int, count: int, shown: set[int], rank: int, message: Message) -> None:
        """A rank that was compared is shown while others are still busy; failures wait until their cause is known."""
        report = message.get("report") or {}
        if report.get("status") in ("ok", "wrong"):
            shown.add(rank)
            answer = Answer(rank=rank, report=report)
            self.emit(self._judged(settle_ranks([answer])[0], answer, index, count))

    def _judged(self, summary: RankSummary, answer: Answer, index: int, count: int) -> RankVerdict:
        """One rank's result of one trial, without the call's time where that means nothing."""
        found = rank_verdict(summary, answer, index, count)
        return dataclasses.replace(found, call_ms=None) if self._context.target.not_timed else found

    def _note_first_call(self, index: int, found: Sequence[Answer]) -> None:
        times = [call_ms(answer) for answer in found]
        if index == 0 and not self._context.target.not_timed and all(ms is not None for ms in times):
            self._first_call_ms = max(ms for ms in times if ms is not None)

    def _first(self, status: Status) -> None:
        self.emit(FirstVerdict(status=status, since_save_ms=(time.time() - self._seen) * 1e3))

    def _stop(self, found: Sequence[Answer]) -> None:
        """End the attempt with what the ranks came to; shows failures at their line."""
        found = [as_build_error(answer, self._source.text) for answer in found]
        ranks = settle_ranks(found)
        status = overall(ranks)
        for diagnostic in diagnostics(found, self._path):
            self.emit(diagnostic)
        for answer in found:
            text = failure_of(answer).get("text")
            if text:
                self.emit(Log(rank=answer.rank, stream="stderr", text=str(text)))
        cause = first_cause(found)
        why = reason(status, ranks, cause.rank if cause else None)
        status, why = self._building.explain(status, why)
        if self._passed == 0:
            self._first(status)
        raise Stop(status, ranks, why)

    async def _answers(self, futures: Sequence[asyncio.Future[Message]], late: bool) -> list[Answer]:
        stacks = await self._stacks() if late else {}
        return answers(futures, self._set, stacks, late, self._path)

    async def _mismatch_answers(self, reports: Sequence[Message]) -> list[Answer]:
        """Ranks without a bad report of a timed block were not at fault."""
        found = []
        for rank, message in enumerate(reports):
            fine = {"status": "ok"} if "samples" in message else None
            found.append(Answer(rank=rank, report=message.get("report", fine), death=self._set.exits.get(rank)))
        return found

    async def _stacks(self) -> dict[int, Standing]:
        """Take and show where every rank stands."""
        texts = await self._set.stacks()
        found = {rank: standing(text, self._path) for rank, text in texts.items()}
        for rank, place in found.items():
            self.emit(RankStack(rank=rank, where=place.words, stack=texts[rank], line=place.line))
        return found

    async def _show_stacks(self) -> None:
        await self._stacks()

    def _patience(self) -> Patience:
        limits = self._context.settings.limits
        return Patience(
            limit=limits.run, stall=limits.stall, on_stall=self._show_stacks, paused=lambda: self._building.busy
        )

    async def _ask_all(self, message: Message, limit: float, quiet: float) -> list[Message]:
        """All judges' answers to a request that calls the candidate; Stop when a rank fails or never returns.

        ``quiet`` is how many seconds without an answer are no stall.
        """
        futures = self._context.judges.ask([message] * self._world)
        patience = self._patience()
        patience = dataclasses.replace(patience, limit=limit, stall=patience.stall + quiet)
        late = await settle(futures, self._set, patience, call_failed)
        raise_infra(futures)
        if late or any(not f.done() or f.result().get("gone") or call_failed(f.result()) for f in futures):
            self._stop(await self._answers(futures, late))
        return [future.result() for future in futures]

    def _log(self, message: Message) -> None:
        self.emit(Log(rank=message["rank"], stream=message["stream"], text=message["text"]))

    @property
    def _set(self) -> CandidateSet:
        if self._candidates is None:
            raise RuntimeError("the attempt has no ranks yet")
        return self._candidates
