"""The extensions of one attempt: started from a look at the source, waited for, and given to the ranks that ask."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import re
import time
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path

from workbench.build.loading import may_bring_names
from workbench.build.model import Finding, Request, Result
from workbench.build.plan import Plan, Planned, Unplanned, look, request_of
from workbench.errors import BuilderError
from workbench.events import (
    BUILD_WORDS,
    BuildFinished,
    BuildStarted,
    BuildSummary,
    Diagnostic,
    Event,
    EventStream,
    Status,
)
from workbench.flow.build_socket import BuildSocket
from workbench.flow.builder import Builder
from workbench.flow.context import Stop
from workbench.flow.findings import diagnostic_of
from workbench.ranks.channel import Message
from workbench.target import Source

MOST_REQUESTS = 64
"""Different extensions that the ranks of one attempt may ask for."""
_WAYS = {"cached": "from the cache", "none": "nothing", "slim": BUILD_WORDS["slim"], "full": BUILD_WORDS["full"]}
_NOT_YET_SURE = "(found by the quick build; the full build decides)"
_NO_DEVICE = "no CUDA device"
_ABOUT_DEVICES = re.compile(r"cuda|gpu|device type|symmetric ?memory|nvshmem", re.IGNORECASE)
"""In errors of code that was written for GPUs only."""
_RAW_KERNEL = re.compile("where no kernel reaches it|the kernel compiles, but it cannot run")
"""In errors of ``utils.kernels`` at a launch."""


@dataclass(frozen=True, kw_only=True)
class BuildPlace:
    """What all attempts of a sitting build with."""

    builder: Builder
    arch: str
    full: bool
    device: str
    """The device of the ranks."""
    patience: float = 600.0
    """Seconds that ranks of one attempt may wait for builds in all."""


class Building:
    """Builds of one attempt, each once, whoever asks for it."""

    def __init__(self, number: int, source: Source, place: BuildPlace, stream: EventStream) -> None:
        self._number = number
        self._source = source
        self._place = place
        self._stream = stream
        self._plan = Plan()
        self._builds: dict[tuple[str, bool], asyncio.Task[Result]] = {}
        self._ahead: list[asyncio.Task[Result]] = []
        self._waiting = 0
        self._since = self._waited = 0.0
        self.started = time.perf_counter()
        self.summaries: list[BuildSummary] = []
        self.failure: Diagnostic | None = None
        """The first error of an extension that could not be built."""
        self.broken = ""
        """Why the build service itself failed when a rank asked for an extension."""
        self.refused = False
        """Whether a rank asked for CUDA code where there is no CUDA device."""

    async def begin(self) -> None:
        """Look at the source and start to build what it will ask for."""
        self._plan = await asyncio.to_thread(look, self._source.text, str(self._source.path))
        for call in self._plan.unplanned:
            self._emit(_unplanned(call, str(self._source.path)))
        self._ahead = [
            self._task(own_request(item.request, self._source), False) for item in self._plan.planned[:MOST_REQUESTS]
        ]

    @property
    def expected(self) -> bool:
        """Whether something is being built before the ranks load the file."""
        return bool(self._ahead)

    @property
    def busy(self) -> bool:
        """Whether ranks wait for a build now, and have not yet waited too long."""
        since = time.monotonic() - self._since if self._waiting else 0.0
        return self._waiting > 0 and self._waited + since < self._place.patience

    async def finish(self) -> str:
        """Wait for what the source is known to ask for; how it was built, in words. Stop when it cannot be built."""
        results = await asyncio.gather(*self._ahead)
        self.stop_on_failure()
        return ", ".join(sorted({_WAYS[result.way] for result in results}))

    def stop_on_failure(self) -> None:
        """Raise Stop when an extension could not be built."""
        if self.failure is not None:
            raise Stop("build-error", (), self._failure_words(self.failure))

    def _failure_words(self, failure: Diagnostic) -> str:
        spot = f"line {failure.line}: " if failure.line else ""
        return f"{spot}{failure.message}"

    def explain(self, status: Status, why: str) -> tuple[Status, str]:
        """Status and reason of an attempt that stopped, where its extensions are the cause."""
        if status in ("load-error", "crash") and self.broken:
            return "infra", self.broken
        if status in ("load-error", "crash") and self.failure is not None:
            return "build-error", self._failure_words(self.failure)
        words = self._without_device(why) if status in ("load-error", "crash", "contract") else ""
        return ("unknown", words) if words else (status, why)

    def _without_device(self, why: str) -> str:
        """Why an attempt failed for want of a CUDA device; empty where it did not."""
        if self._place.device == "cpu" and _RAW_KERNEL.search(why):
            return f"{_NO_DEVICE}: the raw kernel compiles and was not run"
        wants = self.refused or (self._plan.wants_cuda and _ABOUT_DEVICES.search(why) is not None)
        if self._place.device != "cpu" or not wants:
            return ""
        ways = ", ".join(f"{item.name}: {BUILD_WORDS[item.made_by]}" for item in self.summaries)
        compiled = all(item.made_by for item in self.summaries)
        return f"{_NO_DEVICE}: the CUDA code {f'compiles ({ways})' if compiled else 'was not compiled'} and was not run"

    async def end(self) -> None:
        """End what still builds."""
        for task in self._builds.values():
            task.cancel()
        await asyncio.gather(*self._builds.values(), return_exceptions=True)

    def serving(self, folder: Path) -> AbstractAsyncContextManager[None]:
        """Answer ranks that ask through the socket in their set's scratch folder, while the context lasts."""
        return BuildSocket(self._answer).serving(folder)

    async def _answer(self, message: Message) -> Message:
        """The library for a rank's request, or why there is none."""
        request = own_request(request_of(message), self._source)
        if self._place.device == "cpu" and request.cuda:
            self.refused = True
        try:
            result = await self._waited_for(self._task(request, message.get("full") is True))
        except BuilderError as error:
            self.broken = str(error)
            raise
        if self._place.device == "cpu" and request.cuda:
            return {"library": "", "reason": f"{_NO_DEVICE}: CUDA code cannot run on this machine"}
        if result.no_tools:
            self.failure = self._diagnostic(request, result.findings[0])
        return {"library": result.library if result.ok else "", "reason": result.reason}

    async def _waited_for(self, build: asyncio.Task[Result]) -> Result:
        """The result, which a rank waits for; a rank's leaving does not end the build."""
        if self._waiting == 0:
            self._since = time.monotonic()
        self._waiting += 1
        try:
            return await asyncio.shield(build)
        finally:
            self._waiting -= 1
            if self._waiting == 0:
                self._waited += time.monotonic() - self._since

    def _task(self, request: Request, unfit: bool) -> asyncio.Task[Result]:
        which = (request.digest, unfit)
        if which not in self._builds:
            if len(self._builds) >= MOST_REQUESTS:
                raise ValueError(f"more than {MOST_REQUESTS} different extensions are asked for")
            self._builds[which] = asyncio.ensure_future(self._build(request, unfit))
        return self._builds[which]

    async def _build(self, request: Request, unfit: bool) -> Result:
        self._emit(BuildStarted(name=request.name))
        result = await self._place.builder.build(
            request,
            self._place.arch,
            full=self._place.full,
            unfit=unfit,
            early=lambda found: self._early(request, found),
        )
        if result.library and not result.ok:
            result = await self._without_names(result)
        for finding in result.findings or _reasons(result):
            self._tell(request, finding, result.no_tools or result.machine)
        self._finished(request, result)
        if result.machine:
            raise BuilderError(f"{result.name} could not be built: {result.reason}")
        return result

    async def _without_names(self, result: Result) -> Result:
        """A library that lacks names: one to try where the file may load others first that have them."""
        if not await asyncio.to_thread(may_bring_names, self._source.text):
            return result
        findings = tuple(_left_to_loader(item) if item.severity == "error" else item for item in result.findings)
        return dataclasses.replace(result, ok=True, reason="", findings=findings)

    def _finished(self, request: Request, result: Result) -> None:
        summary = BuildSummary(name=result.name, path=result.way, made_by=result.made_by, seconds=result.seconds)
        self.summaries.append(summary)
        reason = self._at_users_lines(request, result)
        note = "" if result.slim_note == result.reason else result.slim_note
        told = {"ok": result.ok, "reason": reason, "slim_note": note}
        self._emit(BuildFinished(**dataclasses.asdict(summary), **told))  # type: ignore[arg-type]

    def _at_users_lines(self, request: Request, result: Result) -> str:
        """Why a build failed, with lines of the user's file."""
        first = next((item for item in result.findings if item.message == result.reason), None)
        return self._diagnostic(request, first).message if first is not None else result.reason

    def _tell(self, request: Request, finding: Finding, no_fault: bool) -> None:
        """Tell a finding. That there is no compiler is a warning: the file may run without what it could build."""
        diagnostic = self._diagnostic(request, finding)
        if no_fault and finding.severity == "error":
            diagnostic = dataclasses.replace(diagnostic, severity="warning")
        elif finding.severity == "error" and self.failure is None:
            self.failure = diagnostic
        self._emit(diagnostic)

    def _early(self, request: Request, found: tuple[Finding, ...]) -> None:
        """What the quick build found wrong is told at once, as a warning: the full build has the last word."""
        for finding in found:
            if finding.severity == "error":
                words = f"{finding.message} {_NOT_YET_SURE}"
                self._emit(self._diagnostic(request, dataclasses.replace(finding, severity="warning", message=words)))

    def _diagnostic(self, request: Request, finding: Finding) -> Diagnostic:
        return diagnostic_of(finding, request, self._planned(request), self._source)

    def _planned(self, request: Request) -> Planned | None:
        return next((item for item in self._plan.planned if own_request(item.request, self._source) == request), None)

    def _emit(self, event: Event) -> None:
        self._stream.emit(dataclasses.replace(event, attempt=self._number))


def _left_to_loader(finding: Finding) -> Finding:
    words = f"{finding.message}; importing it fails unless this file loads a library that has it"
    return dataclasses.replace(finding, severity="warning", message=words)


def _reasons(result: Result) -> tuple[Finding, ...]:
    """What is told of a build that failed without a compiler's word."""
    return () if result.ok else (Finding(severity="error", message=result.reason),)


def own_request(request: Request, source: Source) -> Request:
    """A request with folders that are relative to the user's file made absolute."""
    folder = source.path.parent
    return dataclasses.replace(request, includes=tuple(os.path.join(folder, item) for item in request.includes))


def _unplanned(call: Unplanned, path: str) -> Diagnostic:
    words = f"{call.function} is built when the file runs, not ahead of it: {call.why}"
    return Diagnostic(severity="note", message=words, path=path, line=call.line)
