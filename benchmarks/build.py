"""How long extensions take to build: from a save to its verdict, quick build, full build, from the cache.

From save to verdict is timed on the CUDA starter of problem 1 with its kernel in use; on CPU ranks that verdict is
``unknown``, since nothing is run. The quick build is timed on every candidate of ``tests/build/candidates``, the full
one on as many of them as asked for, each into an empty cache. Each figure is printed when it is there, and after some
time nothing new is begun.
"""

from __future__ import annotations

import asyncio
import os
import resource
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from benchmarks.report import Figure, parser, publish, show, spread
from problems.loader import find_problem
from problems.starter import starter_text
from tests.build.candidates import candidates
from tests.flow.candidates import GOOD
from tests.flow.sitting import Sitting
from workbench.build.arch import choose_arch
from workbench.build.cache import Cache
from workbench.build.jobs import Slots, parallel_jobs
from workbench.build.making import Maker, Order
from workbench.build.model import Result
from workbench.build.plan import look
from workbench.build.service import BuildService
from workbench.build.toolchain import find_toolchain
from workbench.events import Diagnostic

QUICK_S, FULL_S, CACHED_S, ERROR_S = 4.0, 25.0, 0.3, 1.0
"""From a save to the verdict by the quick build, the full one and the cache; to the first error of a broken text."""
_BREAK = ("W total = 0;", "W total = zero;")
_BREAK_PYTHON = ("def solution(", "def solution(:")
_EDIT = ("W total = 0;", "W total = 1;")
"""Within a kernel: the host's half of the text stays as it was."""

T = TypeVar("T")


class Budget:
    """Seconds after which nothing new is begun; 0 = no end."""

    def __init__(self, seconds: float) -> None:
        self._ends = time.monotonic() + seconds if seconds else float("inf")

    def spend(self, todo: Iterable[T]) -> Iterator[T]:
        """The first of these in any case, and the others while there is time."""
        for index, one in enumerate(todo):
            if index and time.monotonic() > self._ends:
                return
            yield one


def orders(arch: str) -> Iterator[tuple[str, Order]]:
    """What each candidate asks for."""
    for name, text in candidates().items():
        yield name, Order(request=look(text).planned[0].request, arch=arch)


def cpu_seconds() -> float:
    """Processor seconds of all compilers that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Builds:
    """Builds into an empty cache."""

    def __init__(self, folder: Path, budget: Budget) -> None:
        self.tools = find_toolchain()
        self.cache = Cache(folder / "builds", 10**11)
        self.maker = Maker(self.tools, self.cache, Slots())
        self.budget = budget
        self.failed: list[str] = []

    async def figures(self, full: int, arch: str) -> list[Figure]:
        """The full build of the first candidates, the quick one of all, and a look into the cache."""
        todo = list(orders(arch))
        await self.maker.slim(todo[0][1])  # the runtime that all share is compiled with the first
        self.cache.clear()
        found = show([Figure("compilers at a time", float(parallel_jobs()), "")])
        for way, some in (("full build", todo[:full]), ("quick build", todo)):
            found += show(await self._timed(way, some))
        found += show(await self._cached(todo))
        return found

    async def _timed(self, way: str, todo: list[tuple[str, Order]]) -> list[Figure]:
        wall, cpu = [], []
        for name, order in self.budget.spend(todo):
            started, used = time.perf_counter(), cpu_seconds()
            result = await (self.maker.slim(order) if way == "quick build" else self.maker.full(order))
            wall.append(time.perf_counter() - started)
            cpu.append(cpu_seconds() - used)
            if not result.ok:
                self.failed.append(f"{way} of {name}: {result.reason}")
        if not wall:
            return []
        return [*spread(way, wall, "s"), *spread(f"  {way}, processor", cpu, "s")]

    async def _cached(self, todo: list[tuple[str, Order]]) -> list[Figure]:
        service = BuildService(self.tools, self.cache, Slots())
        times = []
        for _, order in todo:
            if self.maker.find(order, "slim") is None:
                continue
            started = time.perf_counter()
            result: Result = await service.build(order)
            if result.way == "cached":
                times.append((time.perf_counter() - started) * 1e3)
        return spread("found in the cache", times, "ms") if times else []


def versions() -> Iterator[str]:
    """The CUDA starter of problem 1 with its kernel in use; each version has another CUDA text, and its host code other
    lines, so that nothing of an earlier build can be used again."""
    text = starter_text(find_problem("1"), "cuda").replace("USE_KERNEL = False", "USE_KERNEL = True")
    number = 0
    while True:
        number += 1
        yield text.replace('CUDA_SOURCE = r"""\n', 'CUDA_SOURCE = r"""\n' + f"// version {number}\n" * number)


class PatientSitting(Sitting):
    """A sitting that waits for full builds."""

    patience = 400.0


def save_to_verdict(device: str, ranks: int, times: int, full: bool, budget: Budget) -> list[Figure]:
    """Seconds from a save to its verdict on warm ranks, one trial and no timing: new text, known text, broken text."""
    sitting = PatientSitting("1", ranks, "bfloat16", limit=60.0, trials=1, device=device, full=full)
    texts = versions()
    sitting.judge(GOOD if full else next(texts))
    way, most = ("full build", FULL_S) if full else ("quick build", QUICK_S)
    new: list[float] = []
    known: list[float] = []
    for text in budget.spend(next(texts) for _ in range(times)):
        for taken, version in ((new, text), (known, f"{text}# again\n")):
            taken.append(seconds(lambda version=version: sitting.judge(version)))  # type: ignore[misc]
    found = show(spread(f"save to verdict, {way}", new, "s", most) + spread("  known text", known, "s", CACHED_S))
    if full:
        edited = [seconds(lambda: sitting.judge(text.replace(*_EDIT)))]
        found += show(spread("  an edit within its kernel", edited, "s"))
    if not full:
        for name, change in (("save to first error", _BREAK), ("save to an error of Python", _BREAK_PYTHON)):
            broken = (next(texts).replace(*change) for _ in range(times))
            taken = [first_error(sitting, text) for text in budget.spend(broken)]
            found += show(spread(name, taken, "s", ERROR_S))
    sitting.close()
    return found


def seconds(step: Callable[[], object]) -> float:
    """How long a step takes."""
    started = time.perf_counter()
    step()
    return time.perf_counter() - started


def first_error(sitting: Sitting, text: str) -> float:
    """Seconds from a save with an error until it is shown at its line."""
    seen = len(sitting.events)
    started = time.perf_counter()
    sitting.submit(text)
    sitting.until(lambda: any(isinstance(event, Diagnostic) and event.line for event in sitting.events[seen:]))
    taken = time.perf_counter() - started
    sitting.cancel()
    sitting.verdict()
    return taken


def main() -> None:
    """Run it and print the figures."""
    arguments = parser("Builds of extensions.")
    arguments.add_argument("--full", type=int, default=0, help="candidates that are also built in full")
    arguments.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    arguments.add_argument("--ranks", type=int, default=2)
    arguments.add_argument("--times", type=int, default=5, help="saves of each kind")
    arguments.add_argument("--seconds", type=float, default=120.0, help="begin nothing new after these; 0 = no end")
    chosen = arguments.parse_args()
    budget = Budget(chosen.seconds)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PKWB_CACHE_DIR"] = f"{folder}/cache"
        figures = save_to_verdict(chosen.device, chosen.ranks, chosen.times, False, budget)
        if chosen.full:
            figures += save_to_verdict(chosen.device, chosen.ranks, min(chosen.full, chosen.times), True, budget)
        builds = Builds(Path(folder), budget)
        figures += asyncio.run(builds.figures(chosen.full, choose_arch("")))
    print("\n".join(builds.failed))
    name = "build" if chosen.device == "cpu" else "build_cuda"
    publish(name, figures, chosen.json, failed=builds.failed)


if __name__ == "__main__":
    main()
