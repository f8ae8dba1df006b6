"""Runs the stages of one build in a folder of its own and keeps what comes out."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workbench.build import fast, torch_headers
from workbench.build.cache import Cache, Entry
from workbench.build.diagnostics import findings, first_error
from workbench.build.full import full_commands, unit_text
from workbench.build.host_objects import HostObjects
from workbench.build.jobs import Done, Slots, available_bytes
from workbench.build.keys import content_key, library_key, stands_alone, static_libraries, user_headers
from workbench.build.model import CPP_UNIT, CUDA_UNIT, Command, Finding, Request, Result, Toolchain, Way, plain
from workbench.build.phases import compile_cuda
from workbench.build.precompiled import PrecompiledHeaders, at_fault
from workbench.build.racing import Build, first_good
from workbench.build.torch_headers import Without

MadeBy = Literal["slim", "full"]

Stages = Sequence[Sequence[Command]]
_OUT_OF_MEMORY = re.compile(
    r"out of memory|bad_alloc|virtual memory exhausted|signal 9\b|Cannot allocate memory|Killed"
)
_LONGEST_LINE = 300
_PLENTY = 8
"""With room for so many compilers a build with all of torch's headers starts beside the one with fewer."""
_NO_ROOM = re.compile("No space left on device|Disk quota exceeded|File too large")
_OF_THE_TEXT = re.compile(rf"\s|(?:{'|'.join(map(re.escape, (CUDA_UNIT, CPP_UNIT)))})[(:]\d+(?!.*\berror writing to)")
"""Lines of a compiler that quote the user's text or are about it."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """A request and how it is built."""

    request: Request
    arch: str
    """The GPU's compute capability, as ``90``."""
    full: bool = False
    """Only the full build is wanted."""
    unfit: bool = False
    """The library of the quick build could not be loaded."""
    limit: float = 300.0
    """Seconds."""
    spent: float = 0.0
    """Seconds of the limit that an earlier try took."""


@dataclass(frozen=True, kw_only=True)
class Made:
    """What the stages came to. ``final``: the same request would fail again, the text being at fault; ``machine``: the
    machine is."""

    ok: bool
    findings: tuple[Finding, ...]
    reason: str = ""
    final: bool = False
    machine: bool = False
    at_link: bool = False
    output: str = ""
    """What the last command printed, where all went well."""


class Maker:
    """Makes libraries with either build, and keeps them in the cache."""

    def __init__(self, toolchain: Toolchain, cache: Cache, slots: Slots) -> None:
        self._toolchain = toolchain
        self._cache = cache
        self._slots = slots
        self._runtime_turn = asyncio.Lock()
        self._objects = HostObjects(cache, toolchain)
        self._headers = PrecompiledHeaders(cache, toolchain)

    def key(self, order: Order, made_by: MadeBy) -> str:
        """Where an order's library is in the cache."""
        version = fast.VERSION if made_by == "slim" else ""
        return library_key(order.request, self._toolchain, made_by, order.arch, version)

    def find(self, order: Order, made_by: MadeBy) -> Result | None:
        """The library that one of the builds made earlier."""
        entry = self._cache.find(self.key(order, made_by))
        return _result(order.request, entry, "cached") if entry is not None else None

    async def full(self, order: Order, *, behind: bool = False) -> Result:
        """Build with torch's own headers; ``behind``: a quick build that runs beside it goes first.

        What a text has no use for is left out at first. What does not compile then is built with all of them.
        """
        slots = self._slots.behind() if behind else self._slots
        without = torch_headers.left_out(order.request, self._toolchain)
        if without is None:
            result = await self._full(order, slots)
            self._headers.prepare(order.request, without)
            return result
        fewer, whole = await self._race(order, slots, without)
        self._headers.prepare(order.request, None if whole is not None and whole.ok else without)
        return whole or fewer

    async def _race(self, order: Order, slots: Slots, without: Without) -> tuple[Result, Result | None]:
        started = time.monotonic()

        def whole() -> Build:
            return self._full(dataclasses.replace(order, spent=time.monotonic() - started), slots.behind())

        fewer = self._full(order, slots, without)
        together = slots.count >= _PLENTY
        return await first_good(fewer, whole, together=together, goes_on=lambda result: not result.machine)

    async def idle(self) -> None:
        """Wait until nothing is made in the background."""
        await self._headers.made()

    async def close(self) -> None:
        """End what is made in the background."""
        await self._headers.close()

    async def _full(self, order: Order, slots: Slots, without: Without | None = None) -> Result:
        with self._cache.workplace() as place:
            torch_headers.write(without, self._toolchain, place)
            header = await self._headers.lay(order.request, without, place)
            result = await self._compiled(order, place, slots, without, header)
            if header and at_fault(result, place):
                result = await self._compiled(order, place, slots, without)
        return result

    async def _compiled(
        self, order: Order, place: Path, slots: Slots, without: Without | None, header: str = ""
    ) -> Result:
        tools = torch_headers.with_fewer(self._toolchain, without)
        stages = full_commands(order.request, tools, order.arch, f"{order.request.name}.so", header)
        return await self._make(order, "full", stages, place, slots)

    async def slim(self, order: Order) -> Result:
        """Build with the slim headers."""
        with self._cache.workplace() as place:
            fast.write_headers(self._toolchain, place)
            async with self._runtime_turn:
                runtime = await self._runtime(order.limit)
            if runtime is None:
                return Result(name=order.request.name, ok=False, way="slim", reason="its runtime could not be compiled")
            library = f"{order.request.name}.so"
            stages = fast.slim_commands(order.request, self._toolchain, order.arch, str(runtime), library)
            return await self._make(order, "slim", stages, place, self._slots)

    async def _make(self, order: Order, made_by: MadeBy, stages: Stages, place: Path, slots: Slots) -> Result:
        started, since = time.perf_counter(), time.time()
        texts = write_units(order.request, place)
        objects = self._objects if made_by == "full" else None
        made = await run_stages(stages, place, slots, order.limit, texts, objects, order.spent)
        name = order.request.name
        if not made.ok:
            return _failed(order.request, made, made_by)
        facts = {
            "name": name,
            "made_by": made_by,
            "seconds": time.perf_counter() - started,
            "findings": [plain(finding) for finding in made.findings],
        }
        output = place / stages[-1][-1].output
        files = [*user_headers(place, self._toolchain), *static_libraries(order.request.ld_flags)]
        entry = self._cache.publish(self.key(order, made_by), output, facts, files, since)
        if entry is None:
            reason = f"the library could not be kept in {self._cache.folder}: free some disk space"
            return Result(name=name, ok=False, way=made_by, reason=reason, machine=True)
        return _result(order.request, entry, made_by)

    async def _runtime(self, limit: float) -> Path | None:
        """What all libraries of the quick build are linked with, compiled once for a torch and a Python."""
        key = content_key("runtime", self._toolchain, runtime=fast.runtime_key(self._toolchain))
        entry = self._cache.find(key)
        if entry is None:
            with self._cache.workplace() as place:
                commands = fast.runtime_commands(self._toolchain, str(place / "runtime.o"))
                made = await run_stages([[command] for command in commands], place, self._slots, limit, {})
                entry = self._cache.publish(key, place / "runtime.o", {"made_by": "runtime"}) if made.ok else None
        return entry.file if entry is not None else None


def _result(request: Request, entry: Entry, way: Way) -> Result:
    """The result that an entry of the cache stands for. An object file is the proof of a compile, and no library."""
    found = tuple(Finding(**finding) for finding in entry.facts.get("findings", ()))
    library = str(entry.file) if entry.file.suffix == ".so" else ""
    made_by = entry.facts.get("made_by", "full")
    return Result(name=request.name, ok=True, way=way, library=library, made_by=made_by, findings=found)


def _failed(request: Request, made: Made, made_by: MadeBy) -> Result:
    return Result(
        name=request.name,
        ok=False,
        way=made_by,
        findings=made.findings,
        reason=made.reason,
        final=made.final and stands_alone(request, linked=made.at_link),
        machine=made.machine,
        at_link=made.at_link,
    )


def write_units(request: Request, place: Path) -> dict[str, str]:
    """Write the units of a request into a job's folder; their texts as the user wrote them, by name."""
    texts = {unit: text for unit, text in ((CUDA_UNIT, request.cuda), (CPP_UNIT, request.cpp)) if text}
    for unit, text in texts.items():
        (place / unit).write_text(unit_text(unit, text), encoding="utf-8")
    return texts


async def run_stages(
    stages: Stages,
    place: Path,
    slots: Slots,
    limit: float,
    texts: dict[str, str],
    objects: HostObjects | None = None,
    spent: float = 0.0,
) -> Made:
    """Run the stages one after the other, at most ``limit`` seconds in all, of which ``spent`` are over; the first that
    fails is the last.

    ``objects``: earlier ones for the host's part of CUDA text.
    """
    ends = time.monotonic() + limit - spent
    done: list[Done] = []
    for stage in stages:
        left = max(0.0, ends - time.monotonic())
        for jobs in await asyncio.gather(*(_run(command, place, slots, left, objects) for command in stage)):
            done += jobs
        if not all(job.ok for job in done):
            break
        if missing := next((one for one in stage if one.output and not (place / one.output).exists()), None):
            words = f"{Path(missing.argv[0]).name} ended well and made nothing: check the toolkit"
            return Made(ok=False, findings=(Finding(severity="error", message=words),), reason=words, machine=True)
    found = findings("\n".join(job.output for job in done), texts)
    failed = next((job for job in done if not job.ok), None)
    if failed is None:
        return Made(ok=True, findings=found, output=done[-1].output if done else "")
    return dataclasses.replace(_failure(failed, found, limit), at_link=failed.command in stages[-1] and len(stages) > 1)


async def _run(command: Command, place: Path, slots: Slots, limit: float, objects: HostObjects | None) -> list[Done]:
    if "-c" in command.argv and CUDA_UNIT in command.argv:
        return await compile_cuda(command, place, slots, limit, objects)
    return [await slots.run(command, place, limit)]


def _failure(job: Done, found: tuple[Finding, ...], limit: float) -> Made:
    program = Path(job.command.argv[0]).name
    error = first_error(found)
    said = "\n".join(line for line in job.output.splitlines() if not _OF_THE_TEXT.match(line))
    if job.late:
        words = f"the build took longer than {limit:g} s and was ended: simplify the text, or raise limits.build"
    elif _NO_ROOM.search(said):
        words = f"{program} found no room on the disk: free some space (in the cache's folder or that of TMPDIR)"
    elif _OUT_OF_MEMORY.search(said) or job.code == -9:
        free = available_bytes() / 1e9
        words = f"{program} ran out of memory ({free:.1f} GB are free): simplify the text, or free memory"
    elif error is not None:
        return Made(ok=False, findings=found, reason=error.message, final=True)
    else:
        last = [line for line in job.output.splitlines() if line.strip()][-1:]
        words = f"{program} {_end_of(job.code)}{': ' + last[0].strip()[:_LONGEST_LINE] if last else ''}"
    error = Finding(severity="error", message=words)
    rest = tuple(one for one in found if one.severity != "error")
    return Made(ok=False, findings=(error, *rest), reason=words, machine=_NO_ROOM.search(said) is not None)


def _end_of(code: int) -> str:
    """How a compiler ended that said nothing of use."""
    if code >= 0:
        return f"failed with code {code}"
    return f"was ended by signal {-code} ({signal.strsignal(-code) or 'unknown'})"
