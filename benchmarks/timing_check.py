"""What is known is timed: the reference as its own candidate, a delay of known length, one rank that comes late.

The reference as its own candidate must be no different in 19 of 20 attempts. A candidate that is the reference and a
wait behind it must be told slower by just that wait: on GPUs a spin whose length an event pair around it measures in
the very calls that are timed, on processors a loop of a set length. When one rank alone waits, that must show in the
time and in the skew.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.baseline_as_candidate import judge
from benchmarks.report import Figure, parser, publish
from problems.loader import find_problem
from tests.flow.sitting import Sitting
from workbench.config import RanksSettings
from workbench.devices import place_ranks
from workbench.events import Log, Ratio

DIFFERENT_OF_20 = 1
ALARM_OF_20 = 3
"""So many are more than chance: 1 of 50 checks has them when each interval is right 19 times of 20."""
ERROR_PERCENT = 3.0
_DELAYED = """
import functools as _functools
import time as _time
import torch as _torch
_plain, _pairs = solution, []


def _spin():
    pair = [_torch.cuda.Event(enable_timing=True) for _ in range(2)]
    pair[0].record()
    _torch.cuda._sleep(400_000)
    pair[1].record()
    _pairs.append(pair)
    if len(_pairs) % 20 == 0:
        print("spun", *(begin.elapsed_time(end) for begin, end in _pairs[-20:-1]), flush=True)


def _loop():
    end = _time.perf_counter() + 0.002
    while _time.perf_counter() < end:
        pass


@_functools.wraps(_plain)
def solution(*arguments, **named):
    result = _plain(*arguments, **named)
    if _torch.distributed.get_rank() in {late}:
        {wait}()
    return result
"""
_LOOP_MS = 2.0
_WAITS = {"cpu": "_loop", "cuda": "_spin"}


@dataclass(frozen=True)
class Delayed:
    """A candidate that waits, as it was timed; times in ms."""

    candidate_ms: float
    reference_ms: float
    skew: float
    wait_ms: float

    @property
    def error_percent(self) -> float:
        """How far the added time is from the wait, in percent of the wait."""
        return 100 * abs((self.candidate_ms - self.reference_ms) / self.wait_ms - 1)

    @property
    def skew_off(self) -> float:
        """How far the skew is from the share of the call that one rank's wait is, in percent of the call."""
        return 100 * abs(self.skew - self.wait_ms / self.candidate_ms)


def delayed(problem: str, late: Sequence[int], samples: int, where: dict[str, Any]) -> Delayed:
    """The reference with a wait behind it on the ranks ``late``."""
    found = find_problem(problem, [])
    text = found.reference_source() + _DELAYED.format(late=tuple(late), wait=_WAITS[where["device"]])
    sitting = Sitting(found, dtype=found.dtypes[0], trials=1, samples=samples, **where)
    try:
        verdict = sitting.judge(text)
    finally:
        sitting.close()
    if verdict.candidate_ms is None or verdict.reference_ms is None or verdict.skew is None:
        raise SystemExit(f"the reference with a wait was not timed: {verdict.status}: {verdict.reason}")
    wait_ms = _LOOP_MS if where["device"] == "cpu" else _spun(sitting)
    return Delayed(verdict.candidate_ms.median, verdict.reference_ms.median, verdict.skew, wait_ms)


def _spun(sitting: Sitting) -> float:
    """The median of what the candidate measured of its own spins, in ms."""
    lines = "".join(log.text for log in sitting.of(Log, 1) if log.stream == "stdout").splitlines()
    return statistics.median(float(word) for line in lines if line.startswith("spun ") for word in line.split()[1:])


@dataclass(frozen=True)
class Same:
    """The reference as its own candidate: all speedups, and how often one was told where there is none."""

    problem: str
    ratios: tuple[Ratio, ...]
    different: int
    flags: tuple[str, ...]

    def figures(self, runs: int) -> list[Figure]:
        """Rows of the table."""
        allowed = DIFFERENT_OF_20 * runs / 20
        found = [Figure(f"problem {self.problem} as itself, not 1.0", self.different, "", allowed, f"of {runs}")]
        if halves := [50 * (high - low) for low, high in filter(None, (one.interval for one in self.ratios))]:
            found.append(Figure("  half of the interval, median", statistics.median(halves), "%"))
        return found


def same(problem: str, runs: int, samples: int, where: dict[str, Any]) -> Same:
    """So many copies of the reference judged; one that is not ok counts as told different."""
    verdicts = judge(problem, runs, samples, **where)
    ratios = tuple(verdict.speedup for verdict in verdicts if verdict.speedup is not None)
    different = sum(one.differs for one in ratios) + len(verdicts) - len(ratios)
    return Same(problem, ratios, different, tuple(sorted({flag for verdict in verdicts for flag in verdict.flags})))


def main() -> int:
    """Run it and print the figures; exit code 1 when one is off by more than it may be."""
    chosen = _options()
    where = {"world": chosen.ranks, "device": chosen.device, "size": chosen.size, "limit": 60.0}
    found = [same(problem, chosen.runs, chosen.samples, where) for problem in chosen.problems]
    waits = _waits(chosen, where)
    figures = [figure for one in found for figure in one.figures(chosen.runs)] + waits
    how = {"device": chosen.device, "ranks": chosen.ranks, "size": chosen.size}
    publish("timing_check", figures, chosen.json, same=list(map(dataclasses.asdict, found)), **how)
    worst, off = max(one.different for one in found), max(figure.value for figure in waits)
    print(f"as itself: at most {worst} of {chosen.runs} told different; waits off by at most {off:.2g}%")
    return int(worst > ALARM_OF_20 * chosen.runs / 20 or off > ERROR_PERCENT)


def _options() -> argparse.Namespace:
    arguments = parser("Timing of what is known.")
    arguments.add_argument("--device", default="auto")
    arguments.add_argument("--ranks", type=int, default=2)
    arguments.add_argument("--size", help="default: smoke on CPU ranks, default on GPUs")
    arguments.add_argument("--runs", type=int, default=20)
    arguments.add_argument("--samples", type=int, default=100)
    arguments.add_argument("--problems", nargs="+", default=["1", "8", "33"])
    chosen = arguments.parse_args()
    chosen.device = place_ranks(RanksSettings(device=chosen.device), chosen.ranks)[0]
    chosen.size = chosen.size or ("smoke" if chosen.device == "cpu" else "default")
    return chosen


def _waits(chosen: argparse.Namespace, where: dict[str, Any]) -> list[Figure]:
    """The waits' figures, in percent: on all ranks, then on the last one alone where there are others."""
    problem, last = chosen.problems[0], chosen.ranks - 1
    found = [_wait("wait on all ranks", delayed(problem, range(chosen.ranks), chosen.samples, where))]
    if chosen.ranks > 1:
        alone = delayed(problem, [last], chosen.samples, where)
        skew = Figure("  its skew, told wrong by", alone.skew_off, "%", ERROR_PERCENT, f"skew {alone.skew:.1%}")
        found += [_wait(f"wait on rank {last} alone", alone), skew]
    return found


def _wait(name: str, found: Delayed) -> Figure:
    return Figure(f"{name}, told wrong by", found.error_percent, "%", ERROR_PERCENT, f"{found.wait_ms:.4g} ms")


if __name__ == "__main__":
    raise SystemExit(main())
