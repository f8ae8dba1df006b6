"""Timing of one attempt: warm-up, alternating blocks of reference and candidate, live figures, two clocks compared."""

from __future__ import annotations

import asyncio
import math
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from statistics import median

from workbench.errors import RanksError
from workbench.events import LaunchTime, Spread, TimingProgress
from workbench.flow.gate_patience import GatePatience
from workbench.flow.sides import Block, Rows, Side
from workbench.judge.clocks import SHORTEST_CALL_NS, claims_too_little, results_too_late, shortest_tenth
from workbench.judge.conditions import clock_flags, launch_flags, settled
from workbench.judge.pitch import ALIKE_PROCESSES, Pitches, Unlike
from workbench.judge.trials import FEWEST_PAIRS
from workbench.ranks.channel import Message

BLOCK = 10
"""Timed calls of one side before the other side gets its turn, at most."""
WARM_UP_CALLS = 20
WARM_UP_S = {"cpu": 0.0, "cuda": 0.5}
"""Seconds of warm-up a side unless the GPUs' clocks have settled before; a CPU call is warm after ``WARM_UP_CALLS``."""
_WARM_UP_CAP_S = 2.0
_MOST_WARM_UP_CALLS = 500
_MIN_SAMPLES = 5
_BUDGET_SHARE, _MOST_SHARE = 1 / 6, 1 / 2
"""Parts of the limit that all samples of both sides may take; the larger one for the first ``_MIN_SAMPLES``. Slow calls
get fewer samples and the flag few-samples."""

SIDES = ("baseline", "candidate")


@dataclass(frozen=True, kw_only=True)
class SamplingPlan:
    """What is sampled, and how."""

    samples: int
    """Timed calls a side that are wanted."""
    device: str
    limit_s: float
    """Seconds for all of the timing."""
    cold: bool = False
    graph: bool = False
    """Whether calls are replays of CUDA graphs, on both sides."""
    most_mhz: int = 0
    """The highest clock of the slowest GPU's multiprocessors; 0 where it is not known, and on the CPU."""
    pitches: Pitches = field(default_factory=Pitches)


class Mismatch(Exception):
    """A timed call's result was not the result of its inputs: all timing is void."""

    def __init__(self, reports: list[Message]) -> None:
        super().__init__("a timed call was wrong")
        self.reports = reports


@dataclass(frozen=True)
class Calls:
    """A block of timed calls that all ranks of a side are asked for."""

    side: str
    first: int
    """Counts a side's calls; the same number has the same values on both sides."""
    count: int
    last: int
    """A call that is compared in any case; -1: none."""
    cold: bool
    graph: bool
    patience_ns: int
    """How long gates stay shut for hosts that have not queued their call."""

    @property
    def request(self) -> Message:
        """What the judges are asked."""
        which = {"side": self.side, "first": self.first, "calls": self.count, "last": self.last}
        return {"op": "block", **which, "cold": self.cold, "graph": self.graph, "patience": self.patience_ns}


AskBlock = Callable[[Calls], Awaitable[list[Message]]]


class Sampler:
    """Runs the plan R C C R R C C R ... through ``ask``, which gets all judges' answers."""

    def __init__(self, ask: AskBlock, plan: SamplingPlan, on_figures: Callable[[TimingProgress], None]) -> None:
        self._ask = ask
        self._plan = plan
        self._on_figures = on_figures
        self._cold = plan.cold
        self._patience = GatePatience()
        self._seed = secrets.randbits(32)
        self._next_call = dict.fromkeys(SIDES, 0)
        self.reference = Side()
        self.candidate = Side()

    async def run(self) -> TimingProgress:
        """Warm up, sample, and return the last figures. Raises Mismatch when a checked call was wrong."""
        total = self._affordable(await self._warm_up())
        figures = None
        blocks = _blocks(total)
        for pair, calls in enumerate(blocks):
            for side in SIDES if pair % 2 == 0 else SIDES[::-1]:
                await self._block(side, calls, last=pair + 1 == len(blocks))
            figures = await asyncio.to_thread(self._figures, total)
            self._on_figures(figures)
        if figures is None:
            raise RanksError("no timed call was made; ask for at least one sample")
        return figures

    async def _warm_up(self) -> float:
        """Untimed calls, as many of either side, so that call i has the same inputs on both; seconds of a pair.

        Their time is the parent's own, and the clock that has to settle is seen by the baseline's ranks: what a
        candidate claims must not keep the warm-up going.
        """
        spent, calls, batch = dict.fromkeys(SIDES, 0.0), 0, 1
        clocks: Rows = []
        while batch > 0:
            for side in SIDES:
                started = time.perf_counter()
                block = await self._timed_block(side, batch, last=False)
                spent[side] += time.perf_counter() - started
                if side == "baseline":
                    clocks = block.mhz
                    self._patience.learn(Side([block]))
            calls += batch
            slowest = max(max(spent.values()) / calls, 1e-6)
            wanted = WARM_UP_CALLS if calls < WARM_UP_CALLS else calls + self._more(clocks, max(spent.values()))
            batch = min(wanted, math.ceil(_WARM_UP_CAP_S / slowest), _MOST_WARM_UP_CALLS) - calls
        return sum(spent.values()) / calls

    def _more(self, clocks: Rows, spent_s: float) -> int:
        """Calls that the warm-up still needs: a block at a time, until clocks have settled or time is up."""
        at_rest = self._patience.known and settled(clocks, self._plan.most_mhz)
        return 0 if at_rest or spent_s >= WARM_UP_S[self._plan.device] else BLOCK

    def _affordable(self, pair_s: float) -> int:
        usual, most = (int(share * self._plan.limit_s / max(pair_s, 1e-9)) for share in (_BUDGET_SHARE, _MOST_SHARE))
        return min(self._plan.samples, max(usual, min(_MIN_SAMPLES, most), 1))

    async def _block(self, side: str, calls: int, last: bool) -> None:
        block = await self._timed_block(side, calls, last)
        (self.reference if side == "baseline" else self.candidate).blocks.append(block)

    async def _timed_block(self, side: str, calls: int, last: bool) -> Block:
        first = self._next_call[side]
        self._next_call[side] = first + calls
        compared = first + calls - 1 if last else -1
        answers = await self._ask(Calls(side, first, calls, compared, self._cold, self._plan.graph, self._patience.ns))
        if any("samples" not in answer or "report" in answer for answer in answers):
            raise Mismatch(answers)
        block = Block.of(answers)
        self._cold = self._cold and block.cold  # a side that has no memory for it must not be the only warm one
        return block

    def _figures(self, total: int) -> TimingProgress:
        # numpy takes 0.1 s to import: here in a thread, while samples are taken elsewhere
        from workbench.judge import statistics

        matrix = self.candidate.by_rank()
        reference, candidate = self.reference.slowest(), self.candidate.slowest()
        clocks = [*self.candidate.clocks(), *self.reference.clocks()]
        unlike = self._unlike()
        return TimingProgress(
            samples=len(matrix[0]),
            total=total,
            candidate_ms=_ms(statistics.spread(self.candidate.claims())),
            reference_ms=_ms(statistics.spread(self.reference.claims())),
            speedup=statistics.speedup(reference, candidate, self._seed, unlike),
            rank_ms=tuple(ns / 1e6 for ns in statistics.rank_medians(matrix)),
            skew=statistics.skew(matrix),
            cache="cold" if self.candidate.cold and self.reference.cold else "warm",
            graph=self._plan.graph,
            launch_ms=self._launch(),
            clock_mhz=median(clocks) if min(clocks) > 0 else None,
            flags=(*statistics.flags(matrix), *unlike.flags, *self._conditions(clocks)),
        )

    def _unlike(self) -> Unlike:
        """What the processes' pitches leave open; a graph's kernels are not launched one by one."""
        if self._plan.graph:
            return ALIKE_PROCESSES
        shares = [(median(side.claims()), median(side.host())) for side in (self.reference, self.candidate)]
        ns, host_ns = max(shares, key=lambda share: share[1] / max(share[0], 1))
        return self._plan.pitches.unlike(ns, host_ns)

    def _launch(self) -> LaunchTime | None:
        if self._plan.device == "cpu":
            return None
        return LaunchTime(candidate=median(self.candidate.host()) / 1e6, reference=median(self.reference.host()) / 1e6)

    def _conditions(self, clocks: list[int]) -> list[str]:
        """Flags about how the calls were made; on the CPU the last two alone can be."""
        found: list[str] = []
        if self._plan.device == "cuda":
            found += clock_flags(clocks, self._plan.most_mhz)
            for name, side in (("candidate", self.candidate), ("reference", self.reference)):
                found += launch_flags(name, side.claims(), side.host(), side.held())
        if self._plan.cold and not (self.candidate.cold and self.reference.cold):
            found.append("not-cold (no memory to fill the cache from)")
        return [*found, "clock-disagreement"] if self.clocks_disagree() else found

    def clocks_disagree(self) -> bool:
        """Whether the ranks claim much less time than the judges' own clocks leave room for.

        A bracket around a call also holds the message to the rank, the changed inputs and the alignment; what they cost
        is known from the reference's calls in between. On GPUs launches are hidden while the gate is shut, so that they
        explain no more than its patience, whatever the ranks claim. Results that are fetched late, since the work was
        left until then, are found out in the same way.
        """
        claims = self.candidate.claims()
        if not claims:
            return False
        claimed, hidden = median(claims), 0
        if self._plan.device == "cuda":
            hidden = min(shortest_tenth(self.candidate.host()), self._patience.ns)
        return (
            claimed < SHORTEST_CALL_NS
            or claims_too_little(claimed, self.candidate.brackets(), self.reference.gaps(), hidden)
            or results_too_late(claimed, self.candidate.exports(), self.reference.exports())
        )


def _blocks(total: int) -> list[int]:
    """Calls of each block of a side: as even as can be, and enough blocks for an interval where there are the calls."""
    count = max(math.ceil(total / BLOCK), min(total, FEWEST_PAIRS))
    return [total // count + (place < total % count) for place in range(count)]


def _ms(spread: Spread) -> Spread:
    return Spread(median=spread.median / 1e6, p10=spread.p10 / 1e6, p90=spread.p90 / 1e6)
