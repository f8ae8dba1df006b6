"""Timing by ParallelKernelBench's protocol: what is asked of the ranks, and what becomes of their answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from problems.loader import find_problem
from tests.flow.candidates import GOOD, without
from tests.flow.sitting import Sitting
from workbench.events import TimingProgress
from workbench.flow import protocol
from workbench.flow.protocol import Series, SeriesSampler, plan
from workbench.flow.reports import not_captured_flags
from workbench.flow.sampling import Mismatch

US = 1000
_KEEPS = without(
    "made = []\n"
    "def solution(tensor):\n"
    "    if len(made) < 8:\n"
    "        made.append(tensor.clone())\n"
    "        dist.all_reduce(made[-1])\n"
    "    return made[-1].clone()\n"
)
_LATE = without(
    "def solution(tensor):\n"
    "    out = tensor.clone()\n"
    "    dist.all_reduce(out)\n"
    "    if dist.get_rank() == 1:\n"
    "        time.sleep(0.004)\n"
    "    return out\n"
)


@pytest.fixture(autouse=True)
def no_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Series follow one another at once."""
    monkeypatch.setattr(protocol, "IDLE_S", 0.0)


class Judges:
    """Two judges whose ranks need so many ns a call, by side and rank; every series is remembered."""

    def __init__(self, baseline: tuple[int, int], candidate: tuple[int, int], bracket: Callable[[int], int]) -> None:
        self._ns = {"baseline": baseline, "candidate": candidate}
        self._bracket = bracket
        self.export_ns: Callable[[Series], int] = lambda series: 100 * US
        self.asked: list[Series] = []

    async def ask(self, series: Series) -> list[dict[str, Any]]:
        """All judges' answers."""
        self.asked.append(series)
        return [
            {
                "samples": [ns] * series.calls,
                "bracket": self._bracket(ns * series.calls),
                "export": self.export_ns(series),
            }
            for ns in self._ns[series.side]
        ]


def sample(judges: Judges, trials: int = 3) -> tuple[SeriesSampler, list[TimingProgress]]:
    """Time to the end; the sampler, and every figure that was shown."""
    shown: list[TimingProgress] = []
    sampler = SeriesSampler(judges.ask, trials, 60.0, shown.append)
    asyncio.run(sampler.run())
    return sampler, shown


def test_500_calls_that_do_not_count_and_100_that_do() -> None:
    """Each trial times the reference, then the candidate, by 100 calls after 500; values differ between trials."""
    judges = Judges((50 * US, 60 * US), (20 * US, 30 * US), lambda ns: ns + 100 * US)
    sample(judges)
    series = [one for one in judges.asked if one.warm_up]

    assert [(one.side, one.warm_up, one.calls) for one in series] == [
        ("baseline", 500, 100),
        ("candidate", 500, 100),
    ] * 3
    assert len({one.number for one in judges.asked}) == len(judges.asked) / 2


def test_ranks_rest_before_each_series(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second without work is before each series of either side, as the protocol has it."""
    rests: list[float] = []

    async def rest(seconds: float) -> None:
        rests.append(seconds)

    monkeypatch.undo()
    monkeypatch.setattr("workbench.flow.protocol.asyncio.sleep", rest)
    sample(Judges((US, US), (US, US), lambda ns: ns))

    assert rests == [0.5] * 6


def test_figures_are_means_of_the_slowest_rank() -> None:
    """Times and speedup are those of the rank with the largest mean; figures come after every trial."""
    judges = Judges((50 * US, 60 * US), (20 * US, 30 * US), lambda ns: ns + 100 * US)
    _sampler, shown = sample(judges)

    assert [figures.samples for figures in shown] == [100, 200, 300]
    assert shown[-1].protocol == "pkb"
    assert (shown[-1].reference_ms.median, shown[-1].candidate_ms.median) == (0.06, 0.03)
    assert shown[-1].speedup.median == pytest.approx(2.0)
    assert shown[-1].rank_ms == pytest.approx((0.02, 0.03))
    assert shown[-1].skew == pytest.approx(1 / 3)
    assert shown[-1].flags == ("skewed", "repeated-values")


@pytest.mark.parametrize(
    ("pair_s", "warm_up", "calls"), [(0.0001, 500, 100), (0.02, 500, 100), (0.25, 67, 13), (5.0, 3, 1), (1000.0, 0, 1)]
)
def test_slow_calls_get_fewer_of_them(pair_s: float, warm_up: int, calls: int) -> None:
    """What does not fit the time is left out, a sixth of the calls stays timed, and one call at least."""
    assert plan(pair_s, 5, 100.0) == (warm_up, calls)


def test_fewer_calls_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there was no time for 100 calls a series, a flag says how many there were."""
    monkeypatch.setattr(protocol, "plan", lambda *_: (5, 1))
    _sampler, shown = sample(Judges((US, US), (US, US), lambda ns: ns))

    assert "few-samples (1 of 100 calls a series)" in shown[-1].flags


@pytest.mark.parametrize(
    ("claimed", "bracket", "disagree"),
    [
        (30 * US, lambda ns: ns + 100 * US, False),
        (30 * US, lambda ns: 2 * ns, False),
        (3 * US, lambda ns: max(ns, 3_000_000) + 100 * US, True),
        (100, lambda ns: ns + 100 * US, True),
    ],
    ids=["honest", "some more", "a tenth claimed", "impossibly short"],
)
def test_claims_far_below_the_judges_clock_are_seen(claimed: int, bracket: Any, disagree: bool) -> None:
    """Ranks that claim much less than the judge's clock around the series shows are told apart from honest ones."""
    sampler, shown = sample(Judges((30 * US, 30 * US), (claimed, claimed), bracket))

    assert sampler.clocks_disagree() is disagree
    assert ("clock-disagreement" in shown[-1].flags) is disagree


def test_work_that_is_left_until_the_result_is_fetched() -> None:
    """A series whose last result takes far longer to fetch than its calls claim was not made in their time."""
    judges = Judges((300 * US, 300 * US), (10 * US, 10 * US), lambda ns: ns + 100 * US)
    judges.export_ns = lambda series: 3000 * US if series.side == "candidate" else 100 * US
    sampler, shown = sample(judges, trials=5)

    assert sampler.clocks_disagree()
    assert "clock-disagreement" in shown[-1].flags


def test_a_wrong_last_call_voids_the_timing() -> None:
    """The first wrong result of a series ends it."""

    async def ask(series: Series) -> list[dict[str, Any]]:
        return [{"samples": [US], "bracket": US, "report": {"status": "wrong"}}]

    with pytest.raises(Mismatch):
        asyncio.run(SeriesSampler(ask, 1, 60.0, lambda _figures: None).run())


@pytest.mark.parametrize(
    ("plain", "flags"),
    [
        ([{}, {}], ()),
        ([{}, {"candidate": "it waits"}], ("not-captured (candidate: it waits)",)),
        ([{"baseline": "first"}, {"baseline": "second"}], ("not-captured (reference: first)",)),
        ([{"baseline": "no GPU", "candidate": "no GPU"}], ("not-captured (no GPU)",)),
    ],
)
def test_what_could_not_be_captured_is_said(plain: list[dict[str, str]], flags: tuple[str, ...]) -> None:
    """The side that has no graph is named with the reason, once."""
    assert not_captured_flags([{"plain": found} for found in plain]) == flags


@pytest.fixture(scope="module")
def sitting() -> Iterator[Sitting]:
    """One sitting on problem 1 under the protocol."""
    made = Sitting("1", limit=10.0, trials=2, samples=1, protocol="pkb", graph=True)
    yield made
    made.close()


def test_a_good_candidate_is_timed(sitting: Sitting) -> None:
    """On CPU ranks the protocol gives a verdict with times, labelled, and says that values repeat."""
    verdict = sitting.judge(GOOD)

    assert (verdict.status, verdict.reason, verdict.protocol, verdict.graph) == ("ok", "", "pkb", False)
    assert verdict.speedup is not None
    assert {"repeated-values", protocol.NO_GRAPHS} <= set(verdict.flags)
    assert [len(row) for row in verdict.candidate_samples_ms] == [200, 200]
    assert [event.protocol for event in sitting.of(TimingProgress, verdict.attempt)] == ["pkb", "pkb"]


def test_a_rank_that_comes_late_shows_in_the_time(sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
    """What one rank alone needs longer is in the time of the whole."""
    monkeypatch.setattr(protocol, "WARM_UP", 20)
    monkeypatch.setattr(protocol, "CALLS", 20)
    verdict = sitting.judge(_LATE)

    assert verdict.candidate_ms is not None
    assert verdict.candidate_ms.median > 4


def test_a_result_kept_from_earlier_calls_is_wrong(sitting: Sitting) -> None:
    """A candidate that gives the same result again and again is found out by the last call of a series."""
    verdict = sitting.judge(_KEEPS)

    assert verdict.status == "wrong"
    assert "the last call of series" in verdict.reason
    assert verdict.speedup is None


@pytest.mark.parametrize("number", ["21", "63", "73"])
def test_arguments_that_calls_write_to(number: str) -> None:
    """A reference that changes its arguments in every call is right: the last call gets them as they were."""
    problem = find_problem(number, [])
    made = Sitting(problem, dtype=problem.dtypes[0], limit=10.0, trials=1, samples=1, protocol="pkb")
    try:
        verdict = made.judge(problem.reference_source())
    finally:
        made.close()

    assert (verdict.status, verdict.reason) == ("ok", "")
    assert verdict.speedup is not None
