"""Timing by ParallelKernelBench's protocol: series of calls, reference and candidate after one another, trial by trial.

A side's figure is the mean of 100 calls after 500 that do not count, on the rank whose mean is largest. Calls of one
series get the same values, so a result that was kept from an earlier call is seen in the last call of a series only.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from statistics import fmean, median

from workbench.events import TimingProgress
from workbench.flow.sampling import SIDES, Mismatch
from workbench.flow.sides import Block, Rows, Side
from workbench.judge.clocks import SHORTEST_CALL_NS, claims_too_little, results_too_late
from workbench.ranks.channel import Message

WARM_UP, CALLS = 500, 100
STALL_TIMES = 3.0
"""So many times as long as a series may take before its ranks' stacks are taken."""
IDLE_S = 0.5
"""Seconds of rest before each series."""
REPEATED = "repeated-values"
NO_GRAPHS = "not-captured (protocol pkb makes plain calls)"
_PROBES = (1, 5)
"""Calls of the series that tell how long a call takes."""
_PROBE_SHARE = 0.1
_SHARE = 0.8
"""Part of the time that is planned for."""


@dataclass(frozen=True)
class Series:
    """One series that all ranks of a side are asked for."""

    side: str
    number: int
    """Counts series; the same number has the same values on both sides."""
    warm_up: int
    calls: int
    expected_s: float = 0.0
    """How long it may well take, as far as is known."""

    @property
    def request(self) -> Message:
        """What the judges are asked."""
        return {
            "op": "series", "side": self.side, "number": self.number, "warm_up": self.warm_up, "calls": self.calls
        }  # fmt: skip


AskSeries = Callable[[Series], Awaitable[list[Message]]]


def plan(pair_s: float, trials: int, budget_s: float) -> tuple[int, int]:
    """Warm-up and timed calls of a series: 500 and 100, or a sixth of what fits ``budget_s`` seconds timed.

    ``pair_s`` is how long one call of both sides takes, in seconds.
    """
    rest = 2 * IDLE_S * trials
    fitting = int(max(0.0, budget_s - rest) / max(trials * pair_s, 1e-9))
    calls = min(CALLS, max(1, fitting * CALLS // (WARM_UP + CALLS)))
    return min(WARM_UP, max(0, fitting - calls)), calls


class SeriesSampler:
    """Times both sides trial by trial through ``ask``, which gets all judges' answers."""

    def __init__(
        self, ask: AskSeries, trials: int, limit_s: float, on_figures: Callable[[TimingProgress], None]
    ) -> None:
        self._ask = ask
        self._trials = trials
        self._ends = time.monotonic() + _SHARE * limit_s
        self._on_figures = on_figures
        self._number = 0
        self.reference = Side()
        self.candidate = Side()

    async def run(self) -> TimingProgress:
        """All trials; the last figures. Raises Mismatch when the last call of a series was wrong."""
        pair_s = await self._probe()
        warm_up, calls = plan(pair_s, self._trials, self._left())
        for trial in range(self._trials):
            for side in SIDES:
                await asyncio.sleep(IDLE_S)
                block = await self._series(
                    Series(side, self._number + trial, warm_up, calls, pair_s * (warm_up + calls))
                )
                (self.reference if side == "baseline" else self.candidate).blocks.append(block)
            figures = await asyncio.to_thread(self._figures, calls)
            self._on_figures(figures)
        return figures

    def clocks_disagree(self) -> bool:
        """Whether the ranks claim much less time for a series than the judges' own brackets leave room for.

        As in :meth:`workbench.flow.sampling.Sampler.clocks_disagree`, with one bracket around a series' timed calls.
        """
        claims = _sums(self.candidate)
        if not claims:
            return False
        gaps = [bracket - claim for bracket, claim in zip(self.reference.brackets(), _sums(self.reference))]
        claimed, calls = median(claims), len(self.candidate.blocks[0].ns[0])
        return (
            claimed < SHORTEST_CALL_NS * calls
            or claims_too_little(claimed, self.candidate.brackets(), gaps)
            or results_too_late(claimed / calls, self.candidate.exports(), self.reference.exports())
        )

    async def _probe(self) -> float:
        """Seconds that a call of both sides takes, by the parent's own clock; the longer look where there is time."""
        pair_s = float("inf")
        for calls in _PROBES:
            if calls > 1 and calls * pair_s > _PROBE_SHARE * self._left():
                break
            spent = 0.0
            for side in SIDES:
                started = time.perf_counter()
                await self._series(Series(side, self._number, 0, calls))
                spent += time.perf_counter() - started
            self._number += 1
            pair_s = min(pair_s, spent / calls)
        return pair_s

    def _left(self) -> float:
        return max(0.0, self._ends - time.monotonic())

    async def _series(self, series: Series) -> Block:
        """Each rank's durations, and each judge's bracket around all of them, in ns."""
        answers = await self._ask(series)
        if any("samples" not in answer or "report" in answer for answer in answers):
            raise Mismatch(answers)
        durations: Rows = [answer["samples"] for answer in answers]
        brackets, exports = ([[answer[name]] for answer in answers] for name in ("bracket", "export"))
        return Block(durations, brackets, exports=exports)

    def _figures(self, calls: int) -> TimingProgress:
        # numpy takes 0.1 s to import: here in a thread, as for the other way of timing
        from workbench.judge import statistics, trials

        means = [[fmean(series) / 1e6 for series in block.ns] for block in self.candidate.blocks]
        by_rank = list(zip(*means))
        reference = [trials.slowest_rank(block.ns) for block in self.reference.blocks]
        candidate = [trials.slowest_rank(block.ns) for block in self.candidate.blocks]
        return TimingProgress(
            samples=calls * len(means),
            total=calls * self._trials,
            candidate_ms=statistics.spread([fmean(series) / 1e6 for series in candidate]),
            reference_ms=statistics.spread([fmean(series) / 1e6 for series in reference]),
            speedup=trials.speedup(reference, candidate),
            rank_ms=tuple(fmean(row) for row in by_rank),
            skew=statistics.skew(by_rank),
            protocol="pkb",
            flags=self._flags(calls, statistics.skew(by_rank) > statistics.SKEWED),
        )

    def _flags(self, calls: int, skewed: bool) -> tuple[str, ...]:
        found = {
            f"few-samples ({calls} of {CALLS} calls a series)": calls < CALLS,
            "skewed": skewed,
            "clock-disagreement": self.clocks_disagree(),
            REPEATED: True,
        }
        return tuple(flag for flag, raised in found.items() if raised)


def _sums(side: Side) -> list[int]:
    """ns of all timed calls of each series on its slowest rank."""
    return [max(map(sum, block.ns)) for block in side.blocks]
