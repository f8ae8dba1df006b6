"""What the sampler makes of calls: warm-up, figures and flags, from judges that answer with made-up times."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from workbench.events import TimingProgress
from workbench.flow.sampling import SIDES, Calls, Mismatch, Sampler, SamplingPlan
from workbench.judge.pitch import Pitches

MS = 1_000_000
PEAK = 1980


@dataclass
class Machine:
    """Judges of ``world`` ranks; every hook gets (side, rank, call)."""

    world: int = 2
    ns: Callable[[str, int, int], int] = lambda side, rank, call: MS
    overhead_ns: int = 300_000
    hidden_ns: Callable[[str], int] = lambda side: 0
    """What a call's bracket holds beyond its own time and the usual overhead."""
    host_ns: Callable[[str, int, int], int] = lambda side, rank, call: 50_000
    mhz: Callable[[str, int, int], int] = lambda side, rank, call: PEAK
    held: Callable[[str, int, int], bool] = lambda side, rank, call: False
    cold: Callable[[str], bool] = lambda side: True
    export_ns: Callable[[str], int] = lambda side: 100_000
    asked_cold: list[bool] = field(default_factory=list)
    patience_ns: list[int] = field(default_factory=list)
    """Of the gates, as every request had it."""
    blocks: list[tuple[str, int, int]] = field(default_factory=list)
    """Side, number of calls and the call that must be compared, of every request."""
    call_s: float = 0.0
    """How far the parent's clock ``now`` goes on with every call."""
    now: float = 0.0
    made: dict[str, list[int]] = field(default_factory=lambda: {side: [] for side in SIDES})

    async def ask(self, calls: Calls) -> list[dict[str, Any]]:
        """The judges' answers to one block; they fetch one result in ten and the last."""
        side, numbers = calls.side, range(calls.first, calls.first + calls.count)
        self.made[side] += numbers
        self.now += calls.count * self.call_s
        self.blocks.append((side, calls.count, calls.last))
        self.patience_ns.append(calls.patience_ns)
        rows = [[self._row(side, rank, call) for call in numbers] for rank in range(self.world)]
        fetched = sum(call % 10 == 7 or call == calls.last for call in numbers)
        cold = calls.cold and self.cold(side)
        self.asked_cold.append(cold)
        return [{"samples": row, "cold": cold, "exports": [self.export_ns(side)] * fetched} for row in rows]

    def _row(self, side: str, rank: int, call: int) -> list[int | bool]:
        ns, host_ns = self.ns(side, rank, call), self.host_ns(side, rank, call)
        bracket = ns + self.overhead_ns + self.hidden_ns(side)
        return [ns, bracket, host_ns, self.mhz(side, rank, call), self.held(side, rank, call)]


def sample(machine: Machine, device: str = "cuda", samples: int = 40, cold: bool = True) -> TimingProgress:
    """The last figures of a whole run."""
    return shown_of(machine, device, samples, cold)[-1]


def shown_of(machine: Machine, device: str, samples: int, cold: bool = False) -> list[TimingProgress]:
    """All figures of a whole run, in the order in which they were told."""
    shown: list[TimingProgress] = []
    plan = SamplingPlan(
        samples=samples, device=device, limit_s=180.0, cold=cold, most_mhz=PEAK if device == "cuda" else 0
    )
    figures = asyncio.run(Sampler(machine.ask, plan, shown.append).run())
    assert figures == shown[-1]
    return shown


def cpu(**hooks: Any) -> Machine:
    """Ranks that have neither launches nor clocks."""
    return Machine(host_ns=lambda *_: 0, mhz=lambda *_: 0, **hooks)


def test_steady_clocks_end_the_warm_up() -> None:
    """On GPUs whose clock is at rest, twenty calls of either side are enough, and no flag is raised."""
    machine = Machine()
    figures = sample(machine)
    assert {side: len(calls) for side, calls in machine.made.items()} == dict.fromkeys(SIDES, 20 + 40)
    assert (figures.flags, figures.samples, figures.clock_mhz) == ((), 40, PEAK)


def test_the_warm_up_goes_on_while_clocks_rise() -> None:
    """A clock that rises for 60 calls is waited for, by both sides alike."""
    machine = Machine(mhz=lambda side, rank, call: min(PEAK, 600 + 25 * call))
    figures = sample(machine)
    warm_up = len(machine.made["baseline"]) - 40
    assert 60 <= warm_up <= 80
    assert machine.made["candidate"] == machine.made["baseline"]
    assert figures.flags == ()


def test_clocks_that_never_settle_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """After half a second a side, samples are taken whatever the clock does; a clock far below its peak is told."""
    seconds = iter(range(10**6))
    monkeypatch.setattr("workbench.flow.sampling.time.perf_counter", lambda: 0.005 * next(seconds))
    machine = Machine(mhz=lambda side, rank, call: 900 + 300 * (call % 2))
    figures = sample(machine)
    batches_s = 0.005
    assert len(machine.made["baseline"]) - 40 <= 20 + 10 * (0.5 / batches_s)
    assert figures.flags == ("throttled",)


def test_only_the_reference_ranks_clock_ends_the_warm_up() -> None:
    """A candidate that claims a moving clock does not keep the warm-up going."""
    machine = Machine(mhz=lambda side, rank, call: PEAK if side == "baseline" else 100 + 100 * (call % 19))
    sample(machine)
    assert len(machine.made["baseline"]) == 20 + 40


def test_cpu_ranks_have_neither_clock_nor_launches() -> None:
    """CPU figures have no launch time, no clock and none of the flags of GPUs."""
    figures = sample(cpu(), "cpu", cold=False)
    assert (figures.launch_ms, figures.clock_mhz, figures.cache, figures.flags) == (None, None, "warm", ())


def test_launch_time_is_told_beside_the_time() -> None:
    """The host's time for a call is a figure of its own; where it outlasts the device's, the side is named."""
    machine = Machine(host_ns=lambda side, rank, call: 3 * MS if (side, rank) == ("candidate", 1) else MS // 2)
    machine.hidden_ns = lambda side: 2 * MS if side == "candidate" else 0
    figures = sample(machine)
    assert figures.launch_ms is not None
    assert (figures.launch_ms.candidate, figures.launch_ms.reference) == (3.0, 0.5)
    assert figures.candidate_ms.median == 1.0
    assert figures.flags == ("launch-bound (candidate)",)


def test_a_reference_that_waits_for_its_device_is_named() -> None:
    """When one rank's gate could not wait for the whole call, in most calls, the flag names the side."""
    machine = Machine(held=lambda side, rank, call: (side, rank) == ("baseline", 1))
    assert sample(machine).flags == ("blocks-on-device (reference)",)


def test_gates_wait_for_a_reference_with_many_launches() -> None:
    """Where the reference's host needs longer than gates stay shut at first, they get four times what it needs, on both
    sides, before anything is timed; no launch then counts as the device's time."""
    machine = Machine(host_ns=lambda side, rank, call: 1_500_000 if rank else 1_000_000)
    machine.held = lambda side, rank, call: rank == 1 and machine.patience_ns[-1] < 1_500_000
    figures = sample(machine)
    assert machine.patience_ns[0] == MS
    assert set(machine.patience_ns[-8:]) == {6 * MS}
    assert figures.flags == ("launch-bound (candidate)", "launch-bound (reference)")


@pytest.mark.parametrize(
    ("graph", "host_ns", "flags"),
    [(False, 2 * MS, ("unlike-pitch (+10%)",)), (True, 2 * MS, ()), (False, MS // 100, ())],
    ids=["small kernels", "graph", "long kernels"],
)
def test_processes_of_unlike_pitch_leave_a_speedup_open(graph: bool, host_ns: int, flags: tuple[str, ...]) -> None:
    """A candidate whose process starts kernels 10% later may, in calls of small ones, be 10% faster than it seems."""
    machine = Machine(host_ns=lambda *_: host_ns)
    pitches = Pitches((1900, 1900), (2090, 1900))
    plan = SamplingPlan(
        samples=40, device="cuda", limit_s=180.0, cold=True, most_mhz=PEAK, graph=graph, pitches=pitches
    )
    figures = asyncio.run(Sampler(machine.ask, plan, lambda _: None).run())
    assert [flag for flag in figures.flags if "unlike" in flag] == list(flags)
    assert (figures.speedup.high > 1.1) is bool(flags)
    assert figures.speedup.low > 0.97


def test_first_calls_do_not_make_gates_patient() -> None:
    """The first call of all, which loads kernels, is no measure of what the reference's host needs."""
    machine = Machine(host_ns=lambda side, rank, call: 90 * MS if call == 0 else MS // 10)
    sample(machine)
    assert set(machine.patience_ns) == {MS}


def test_one_side_of_small_kernels_is_enough_for_unlike_pitch() -> None:
    """A candidate of many small kernels feels its processes' pitch, however long the reference's kernels are."""
    machine = Machine(host_ns=lambda side, rank, call: 2 * MS if side == "candidate" else MS // 1000)
    plan = SamplingPlan(
        samples=40, device="cuda", limit_s=180.0, cold=True, most_mhz=PEAK, pitches=Pitches((1900,), (2090,))
    )
    figures = asyncio.run(Sampler(machine.ask, plan, lambda _: None).run())
    assert "unlike-pitch (+10%)" in figures.flags


def test_gates_do_not_wait_in_vain() -> None:
    """A reference that waits for its device inside is tried with more patience once, and timed with the least."""
    machine = Machine(host_ns=lambda *_: 2 * MS, held=lambda side, rank, call: side == "baseline")
    sample(machine)
    assert 8 * MS in machine.patience_ns
    assert set(machine.patience_ns[-8:]) == {MS}


def test_a_candidate_does_not_make_gates_patient() -> None:
    """What a candidate's host claims to need changes no gate, and explains no more than the gate's patience."""
    machine = Machine(host_ns=lambda side, rank, call: 50 * MS if side == "candidate" else MS // 10)
    machine.hidden_ns = lambda side: 50 * MS if side == "candidate" else 0
    assert "clock-disagreement" in sample(machine).flags
    assert set(machine.patience_ns) == {MS}


def test_patience_has_an_end() -> None:
    """No gate stays shut for longer than 20 ms."""
    machine = Machine(host_ns=lambda *_: 30 * MS)
    sample(machine)
    assert max(machine.patience_ns) == 20 * MS


def test_sides_take_turns_and_the_last_call_is_compared() -> None:
    """Blocks go R C C R R C, so that drift in one direction favours neither; the last call of either is compared."""
    machine = Machine()
    sample(machine, samples=25)
    timed = machine.blocks[-6:]
    assert [side for side, _calls, _last in timed] == [SIDES[place] for place in (0, 1, 1, 0, 0, 1)]
    assert [calls for _side, calls, _last in timed] == [9, 9, 8, 8, 8, 8]
    assert [last for _side, _calls, last in machine.blocks] == [-1] * (len(machine.blocks) - 2) + [20 + 25 - 1] * 2


def test_a_live_speedup_has_an_interval_from_the_third_pair_on() -> None:
    """After one and two pairs of blocks the figure stands alone, since two say almost nothing of a third."""
    found = [figures.speedup for figures in shown_of(cpu(), "cpu", 40)]
    assert [ratio.median for ratio in found] == [1.0] * 4
    assert [ratio.interval is not None for ratio in found] == [False, False, True, True]


@pytest.mark.parametrize(
    ("samples", "calls"),
    [(100, [10] * 10), (30, [10] * 3), (11, [4, 4, 3]), (5, [2, 2, 1]), (3, [1, 1, 1]), (2, [1, 1]), (1, [1])],
)
def test_few_calls_are_spread_over_three_pairs(samples: int, calls: list[int]) -> None:
    """Slow calls, or a setting, may leave few samples: from three on the verdict has an interval all the same."""
    machine = cpu()
    figures = sample(machine, "cpu", samples, cold=False)
    timed = [block for block in machine.blocks[-2 * len(calls) :] if block[0] == "candidate"]
    assert [count for _side, count, _last in timed] == calls
    assert figures.samples == samples
    assert (figures.speedup.interval is not None) is (samples >= 3)


def test_the_slowest_clock_is_told() -> None:
    """The clock beside the figures is that of the GPU that ran slowest."""
    assert sample(Machine(mhz=lambda side, rank, call: PEAK - 100 * rank)).clock_mhz == PEAK - 100


def test_slow_calls_are_warmed_up_for_two_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call of 0.6 s is not made twenty times before anything is timed."""
    machine = cpu(call_s=0.6)
    monkeypatch.setattr("workbench.flow.sampling.time.perf_counter", lambda: machine.now)
    sample(machine, "cpu", samples=1, cold=False)
    assert [len(made) for made in machine.made.values()] == [4 + 1] * 2


def test_ranks_without_a_gate_are_told() -> None:
    """Where the gate could not be built the figures say that only the hosts were aligned, and show no clock."""
    figures = sample(Machine(mhz=lambda side, rank, call: 0), samples=40)
    assert (figures.flags, figures.clock_mhz) == (("host-aligned",), None)


def test_a_cache_that_could_not_be_filled_is_told() -> None:
    """Figures that were to be cold and are not say warm, and why."""
    figures = sample(Machine(cold=lambda side: False))
    assert (figures.cache, figures.flags) == ("warm", ("not-cold (no memory to fill the cache from)",))
    assert sample(Machine()).cache == "cold"


@pytest.mark.parametrize(
    ("ns", "hidden", "host", "expected"),
    [
        (MS, 0, 0, False),
        (MS // 100, 4 * MS, 0, True),
        (MS // 100, 9 * MS // 10, MS, False),
        (MS // 100, 4 * MS, 4 * MS, True),
        (100, 0, 0, True),
    ],
    ids=["agree", "claims too little", "launches explain it", "launches cannot explain it all", "no time at all"],
)
def test_clocks_disagree(ns: int, hidden: int, host: int, expected: bool) -> None:
    """Claims far below the judge's clock are found out; launches explain no more than the gate can hide, 1 ms."""
    machine = Machine(
        ns=lambda side, rank, call: ns if side == "candidate" else MS,
        hidden_ns=lambda side: hidden if side == "candidate" else 0,
        host_ns=lambda side, rank, call: host if side == "candidate" else 0,
    )
    assert ("clock-disagreement" in sample(machine).flags) is expected


def test_launches_explain_nothing_on_cpu_ranks() -> None:
    """CPU calls begin when they are made: a rank that claims a long launch there hides no time behind it."""
    machine = Machine(
        ns=lambda side, rank, call: MS // 100 if side == "candidate" else MS,
        hidden_ns=lambda side: 9 * MS // 10 if side == "candidate" else 0,
        host_ns=lambda side, rank, call: MS if side == "candidate" else 0,
    )
    assert "clock-disagreement" in sample(machine, "cpu", cold=False).flags
    assert "clock-disagreement" not in sample(machine).flags


@pytest.mark.parametrize(
    ("ns", "candidate", "reference", "expected"),
    [(MS, 3 * MS, MS // 10, False), (MS // 10, 3 * MS, MS // 10, True), (MS // 10, 3 * MS, 2 * MS, False)],
    ids=["part of a call", "more than the calls", "large results"],
)
def test_work_that_is_left_until_results_are_fetched(ns: int, candidate: int, reference: int, expected: bool) -> None:
    """Results that take far longer to fetch than the calls claim, and than the reference's, were not there in time."""
    machine = Machine(
        ns=lambda side, rank, call: ns, export_ns=lambda side: candidate if side == "candidate" else reference
    )
    assert ("clock-disagreement" in sample(machine).flags) is expected


@pytest.mark.parametrize("side", SIDES)
def test_one_warm_side_makes_both_warm(side: str) -> None:
    """Where one side has no memory to fill the cache from, samples of the other are not cold either, and it is told."""
    machine = Machine(cold=lambda one: one != side)
    figures = sample(machine)
    assert not any(machine.asked_cold[2 * 2 :])
    assert (figures.cache, figures.flags) == ("warm", ("not-cold (no memory to fill the cache from)",))


@pytest.mark.parametrize(
    ("call_s", "limit_s", "samples"),
    [
        (0.01, 180, 100),
        (0.5, 180, 30),
        (1.0, 180, 15),
        (1.0, 600, 50),
        (9.0, 180, 5),
        (12.0, 180, 3),
        (40.0, 180, 1),
        (100.0, 180, 1),
    ],
)
def test_slow_calls_get_fewer_samples(
    monkeypatch: pytest.MonkeyPatch, call_s: float, limit_s: float, samples: int
) -> None:
    """Samples take a sixth of the limit, half of it for the first five; one there always is, and few are told."""
    machine = cpu(call_s=call_s)
    monkeypatch.setattr("workbench.flow.sampling.time.perf_counter", lambda: machine.now)
    plan = SamplingPlan(samples=100, device="cpu", limit_s=limit_s)
    figures = asyncio.run(Sampler(machine.ask, plan, lambda _: None).run())
    assert figures.samples == figures.total == samples
    assert ("few-samples" in figures.flags) is (samples < 30)
    assert machine.now < limit_s or samples == 1


def test_a_slow_rank_that_rotates_is_in_every_sample() -> None:
    """Each sample is its slowest rank's, though no rank is slow on average; the skew shows it."""
    machine = cpu(world=4, ns=lambda side, rank, call: 2 * MS if (side, call % 4) == ("candidate", rank) else MS)
    figures = sample(machine, "cpu", cold=False)
    assert figures.candidate_ms.median == 2.0
    assert figures.speedup.median == pytest.approx(0.5)
    assert figures.rank_ms == (1.0, 1.0, 1.0, 1.0)
    assert (figures.skew, figures.flags) == (0.5, ("skewed",))


def test_a_straggler_shows_in_time_and_skew() -> None:
    """One rank that is always late makes the figure, and its own time stands beside the others'."""
    machine = cpu(ns=lambda side, rank, call: MS + (rank == 1) * MS // 2)
    figures = sample(machine, "cpu", cold=False)
    assert (figures.candidate_ms.median, figures.rank_ms, figures.flags) == (1.5, (1.0, 1.5), ("skewed",))
    assert figures.skew == pytest.approx(1 / 3)


def test_outliers_move_no_figure() -> None:
    """A call in twenty that takes a hundred times as long changes neither median nor speedup."""
    machine = cpu(ns=lambda side, rank, call: (100 if call % 20 == 3 else 1) * MS)
    figures = sample(machine, "cpu", samples=100, cold=False)
    assert (figures.candidate_ms.median, figures.candidate_ms.p90) == (1.0, 1.0)
    assert figures.speedup.low <= 1.0 <= figures.speedup.high
    assert figures.speedup.median == pytest.approx(1.0)


def test_a_clock_that_drifts_is_no_speedup() -> None:
    """Both sides slow down by half over the run, as hot GPUs do; the interval still covers 1."""
    machine = cpu(ns=lambda side, rank, call: MS + call * MS // 200)
    figures = sample(machine, "cpu", samples=100, cold=False)
    assert figures.speedup.low <= 1.0 <= figures.speedup.high


def test_a_checked_call_that_was_wrong_voids_the_timing() -> None:
    """One judge's report ends the timing at once."""

    async def ask(calls: Calls) -> list[dict[str, Any]]:
        answers = await Machine().ask(calls)
        return [answers[0], {**answers[1], "report": {"status": "wrong"}}]

    plan = SamplingPlan(samples=10, device="cpu", limit_s=180.0)
    with pytest.raises(Mismatch) as caught:
        asyncio.run(Sampler(ask, plan, lambda _: None).run())
    assert caught.value.reports[1]["report"] == {"status": "wrong"}
