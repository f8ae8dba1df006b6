"""The engine of a sitting: keeps judges and a warm set of candidate ranks, runs one attempt at a time."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
import time
import traceback
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from problems.binding import judge_job
from workbench.aside import Aside
from workbench.build.arch import USUAL, choose_arch
from workbench.build.assembly import Kind
from workbench.config import Settings
from workbench.errors import LostSetError, PkwbError, RanksError
from workbench.events import EventStream, Notice, Origin, RanksReady, SourceSeen, Status, Verdict
from workbench.flow.attempt import Attempt
from workbench.flow.builder import Builder
from workbench.flow.building import Building, BuildPlace
from workbench.flow.context import Context, Stop
from workbench.flow.figures import Yardstick, environment, find_yardstick, link_peak
from workbench.flow.gpu_watch import GpuWatch
from workbench.flow.kernel_code import kernel_code
from workbench.flow.profiling import for_model
from workbench.flow.reports import loading_failed
from workbench.flow.sets import CandidateSet, JudgeSet, RankSet, exit_words, needs_pitch, rank_request
from workbench.flow.standby import DEPTH, Standby, ended, task
from workbench.flow.zygote import Zygote
from workbench.judge.bandwidth import Peak
from workbench.ranks.channel import Message
from workbench.target import Source, Target

T = TypeVar("T")


class Engine:
    """Runs submitted sources on ranks and emits everything on the stream. All methods belong to one asyncio loop."""

    def __init__(self, target: Target, settings: Settings, stream: EventStream) -> None:
        self._target = target
        self._settings = settings
        self._stream = stream
        self._zygote = Zygote()
        self._builder = Builder(settings)
        self._build_place: BuildPlace | None = None
        self._judges: JudgeSet | None = None
        self._baseline: CandidateSet | None = None
        self._context: Context | None = None
        self._standby = Standby(self._start_standby, 1 if target.shared else DEPTH[target.device])
        self._starting: asyncio.Task[None] | None = None
        self._run: asyncio.Task[Verdict] | None = None
        self._held: Yardstick | None = None
        self._watch = GpuWatch(target.world if target.device == "cuda" else 0)
        self._number = 0
        self._origin: Origin = "start"
        self._numbers = itertools.count(1)
        self._ending: Status = "superseded"
        self._entered = 0
        self._closed = False

    @property
    def busy(self) -> bool:
        """Whether an attempt runs."""
        return self._run is not None and not self._run.done()

    async def start(self) -> None:
        """Start zygote, judges and the first standby set; what fails is told as a Notice, and again by each attempt."""
        try:
            await self._ready()
        except PkwbError as error:
            self._stream.emit(Notice(severity="error", text=str(error)))

    def submit(self, source: Source, origin: Origin) -> int:
        """Judge a source version, ending an attempt that runs as superseded; the new attempt's number."""
        before = self._stop_run("superseded")
        self._number += 1
        self._origin = origin
        seen = time.time()
        self._stream.emit(
            SourceSeen(
                attempt=self._number,
                time=seen,
                path=str(source.path),
                digest=source.digest,
                changed=True,
                origin=origin,
            )
        )
        self._run = asyncio.ensure_future(self._attempt(self._number, source, seen, before))
        return self._number

    async def kernel_code(self, source: Source, kind: Kind) -> tuple[str, str]:
        """The machine code (``sass``) or PTX (``ptx``) of a source's kernels; and why there is none, where so."""
        code = await kernel_code(source, await self._place_of_builds(), kind)
        return code.text, code.reason

    @property
    def standing_by(self) -> bool:
        """Whether all sets of ranks that are kept for the next saves are warm."""
        return self._standby.ready

    def cancel(self) -> None:
        """End the attempt that runs, as cancelled."""
        self._stop_run("cancelled")

    async def wait(self) -> Verdict | None:
        """The verdict of the newest attempt; None when nothing was submitted."""
        run = self._run
        if run is None:
            return None
        await asyncio.wait([run])
        if run is not self._run:
            return await self.wait()
        return self._verdict(self._number, self._ending, "") if run.cancelled() else run.result()

    async def close(self) -> None:
        """End everything; no rank is left when this returns."""
        self._closed = True
        run = self._stop_run("cancelled")
        if run is not None:
            await asyncio.wait([run], timeout=5)
        await ended(self._starting)
        await self._end_ranks()
        await self._builder.close()
        self._watch.close()

    def _stop_run(self, ending: Status) -> asyncio.Task[Verdict] | None:
        run = self._run
        if run is not None and not run.done():
            self._ending = ending
            run.cancel()
            if self._entered < self._number:
                # a task that is cancelled before its first step never gets to say so itself
                self._stream.emit(self._verdict(self._number, ending, ""))
        return run

    async def _attempt(self, number: int, source: Source, seen: float, before: asyncio.Task[Verdict] | None) -> Verdict:
        """One attempt, retried once when pkwb itself failed; always ends in a verdict."""
        self._entered = number
        try:
            if before is not None and not before.done():
                await asyncio.wait([before])
            try:
                verdict = await self._try(number, source, seen)
            except RanksError as error:
                if self._context is None or isinstance(error, LostSetError):
                    raise  # what has just failed anew will not work a moment later
                self._restart(str(error))
                verdict = await self._try(number, source, seen)
        except asyncio.CancelledError:
            verdict = self._verdict(number, self._ending, "")
        except PkwbError as error:
            verdict = self._verdict(number, "infra", str(error))
        except Exception:
            verdict = self._verdict(number, "infra", traceback.format_exc())
        self._stream.emit(verdict)
        return verdict

    async def _try(self, number: int, source: Source, seen: float) -> Verdict:
        attempt: Attempt | None = None
        building = Building(number, source, await self._place_of_builds(), self._stream)
        try:
            await building.begin()
            context = await self._ready()
            context = for_model(context) if self._origin == "model" else context
            attempt = Attempt(number, source, context, seen, building)
            await attempt.build()
            return await self._judged(attempt, building, context)
        except Stop as stop:
            assert attempt is not None
            return attempt.verdict(stop.status, stop.ranks, stop.why)
        except asyncio.CancelledError:
            if attempt is not None:
                return attempt.verdict(self._ending, (), "")
            raise
        finally:
            await building.end()
            if not self._closed and self._judges is not None:
                self._standby.keep()

    async def _judged(self, attempt: Attempt, building: Building, context: Context) -> Verdict:
        """The verdict on the next set that has all its ranks; LostSetError where one that started just now has not."""
        attempt.enter("start")
        for _ in range(self._standby.depth):
            try:
                return await self._on_next_set(attempt, building, context)
            except LostSetError as lost:
                self._stream.emit(Notice(severity="warning", text=f"{lost}: the next set takes the file"))
        return await self._on_next_set(attempt, building, context)

    async def _on_next_set(self, attempt: Attempt, building: Building, context: Context) -> Verdict:
        candidates = await self._standby.take()
        try:
            async with building.serving(self._zygote.scratch(candidates.id)):
                await attempt.hand_over(candidates)
                attempt.leave()
                verdict = await self._stages(attempt, context)
            await candidates.wait_output()
            return verdict
        finally:
            self._end_set(candidates)

    async def _stages(self, attempt: Attempt, context: Context) -> Verdict:
        try:
            await attempt.load()
            await attempt.check()
            if context.is_timed:
                await self._standby.settled()
                attempt.enter("time")
                peak = await link_peak(context.judges, self._target, self._zygote.torch, self._settings.limits.start)
                await attempt.time(await self._yardstick(peak))
            return attempt.ok()
        except Stop as stop:
            return attempt.verdict(stop.status, stop.ranks, stop.why)

    async def _place_of_builds(self) -> BuildPlace:
        """What attempts build with; the GPUs are asked once in a sitting."""
        if self._build_place is None:
            arch = await _asked(partial(choose_arch, self._settings.build.arch), USUAL)
            full = self._settings.build.full
            self._build_place = BuildPlace(
                builder=self._builder,
                arch=arch,
                full=full,
                device=self._target.device,
                patience=2 * self._settings.limits.build,
            )
        return self._build_place

    async def _yardstick(self, peak: Peak | None) -> Yardstick:
        """What figures are held against; this machine is looked at once in a sitting."""
        if self._held is None:
            self._held = await _asked(partial(find_yardstick, self._target, peak), Yardstick(peak=peak))
        return self._held

    def _end_set(self, ranks: RankSet | None) -> None:
        if ranks is not None:
            ranks.kill()

    def _verdict(self, number: int, status: Status, reason: str) -> Verdict:
        return Verdict(attempt=number, status=status, problem=self._target.problem.stem, reason=reason, ranks=())

    async def _ready(self) -> Context:
        """The context of attempts; starts zygote, judges and baseline if they are not there or no longer whole."""
        trouble = self._trouble() if self._context is not None else ""
        if trouble:
            self._restart(trouble)
        if self._context is None:
            if self._starting is None or self._starting.done():
                self._starting = task(self._start_ranks())
            await asyncio.shield(self._starting)
        if self._context is None:
            raise RanksError("the ranks could not be started")
        return self._context

    def _trouble(self) -> str:
        """What happened to the ranks that all attempts share; empty when they are whole."""
        if not self._zygote.alive:
            return "the process that starts ranks has ended"
        for name, ranks in (("judge", self._judges), ("baseline", self._baseline)):
            if ranks is not None and ranks.exits:
                rank, death = next(iter(ranks.exits.items()))
                return f"{name} rank {rank} has died ({exit_words(death)})"
        return ""

    async def _start_ranks(self) -> None:
        """Start everything that attempts share; what was started is ended again if a part fails."""
        try:
            await self._end_ranks()
            self._context = await self._new_context()
        except BaseException:
            await self._end_ranks()
            raise

    async def _new_context(self) -> Context:
        limit = self._settings.limits.start
        zygote = self._zygote
        await zygote.start(self._settings.ranks.python, limit)
        with contextlib.ExitStack() as failed:
            judges = JudgeSet(zygote, self._target.world)
            failed.callback(judges.kill)
            judges.fork(self._request("judge"), lambda rank: [])
            baseline = CandidateSet(zygote, self._target.world)
            failed.callback(baseline.kill)
            await baseline.start(self._request("baseline"), limit)
            await judges.wait_ready(limit)
            self._standby.keep()
            await judges.each(self._setups(), limit)
            await self._load_baseline(baseline, judges)
            failed.pop_all()
        self._judges, self._baseline = judges, baseline
        return Context(
            target=self._target,
            settings=self._settings,
            stream=self._stream,
            judges=judges,
            pitch_ns=tuple(baseline.pitch_ns),
            watch=self._watch,
            numbers=self._numbers,
            environment=environment(self._target, zygote),
        )

    def _setups(self) -> list[Message]:
        seed = secrets.token_hex(16)
        jobs = [judge_job(self._target.binding, rank) for rank in range(self._target.world)]
        return [{"op": "setup", "job": job, "seed": seed} for job in jobs]

    async def _load_baseline(self, baseline: CandidateSet, judges: JudgeSet) -> None:
        problem = self._target.problem
        limit = self._settings.limits.start
        await baseline.hold(problem.baseline_source(), str(problem.reference_path), problem.arguments, limit)
        baseline.run()
        _done, pending = await asyncio.wait(baseline.loaded, timeout=self._settings.limits.run)
        for future in baseline.loaded:
            if pending or loading_failed(future.result()):
                raise RanksError(f"the reference of problem {problem.number} could not be loaded: {_why(future)}")
        await asyncio.wait(baseline.attach(judges, "baseline"))

    def _request(self, role: str) -> Message:
        pitch = needs_pitch(self._target, self._settings.run)
        return rank_request(self._target, role, self._settings.ranks.threads, pitch)

    async def _start_standby(self) -> CandidateSet:
        candidates = CandidateSet(self._zygote, self._target.world)
        try:
            await candidates.start(self._request("candidate"), self._settings.limits.start)
        except BaseException:
            candidates.kill()
            raise
        self._stream.emit(
            RanksReady(
                world=self._target.world,
                device=self._target.device,
                backend=self._target.backend,
                startup_ms=candidates.startup_ms,
                torch=candidates.torch,
            )
        )
        return candidates

    def _restart(self, reason: str) -> None:
        """Have zygote, judges, baseline and standby set thrown away and started anew before anything else runs."""
        self._stream.emit(Notice(severity="warning", text=f"ranks are started anew: {reason}"))
        self._context, self._starting = None, None

    async def _end_ranks(self) -> None:
        """End all ranks and the zygote, and let go of what was shared with them."""
        await self._standby.end()
        for ranks in (self._judges, self._baseline):
            self._end_set(ranks)
        self._judges, self._baseline = None, None
        await self._zygote.close()
        self._zygote = Zygote()


def _why(future: asyncio.Future[Message]) -> str:
    message = future.result() if future.done() else {}
    return str(message.get("failure", {}).get("text") or message or "no answer")


async def _asked(look: Callable[[], T], otherwise: T) -> T:
    """What a look at this machine gives, for which the driver is asked; ``otherwise`` where that does not answer."""
    try:
        return await Aside().run(look)
    except TimeoutError:
        return otherwise
