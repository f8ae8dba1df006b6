"""Ranks that die before they have the file: no fault of the kernel, which is judged on the next set."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from problems.binding import bind
from problems.loader import find_problem
from tests.flow.candidates import GOOD
from tests.flow.sitting import Sitting
from workbench.config import Settings
from workbench.errors import LostSetError
from workbench.events import EventStream, Log, Notice, Phase, PhaseChanged
from workbench.flow.engine import Engine
from workbench.flow.sets import CandidateSet
from workbench.flow.zygote import Zygote
from workbench.target import SharedGpus, Target

_SAYS = GOOD + "print('ran here')\n"


@pytest.fixture
def warm(sitting: Sitting) -> Sitting:
    """A sitting whose next set stands by."""
    sitting.until(lambda: sitting.engine.standing_by)
    return sitting


@pytest.fixture
def killed(warm: Sitting, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Ranks that are killed right after their set was taken, one of each of the next sets; the first entry first."""
    ranks: list[int] = []
    take = warm.engine._standby.take

    async def taken() -> CandidateSet:
        candidates = await take()
        if ranks:
            os.kill(candidates.pids[ranks.pop(0)], signal.SIGKILL)
        return candidates

    monkeypatch.setattr(warm.engine._standby, "take", taken)
    return ranks


def phases(sitting: Sitting, attempt: int) -> list[Phase]:
    """The phases that an attempt entered, in order."""
    return [event.phase for event in sitting.of(PhaseChanged, attempt) if event.state == "started"]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_was_killed_right_before_a_save(warm: Sitting, rank: int) -> None:
    """When something kills a rank that stands by, and the file is saved at once, the kernel is judged as ever."""
    standing_by = warm.engine._standby._sets[0].result()
    os.kill(standing_by.pids[rank], signal.SIGKILL)
    verdict = warm.judge(GOOD)

    assert (verdict.status, verdict.reason) == ("ok", "")
    assert phases(warm, verdict.attempt) == ["start", "load", "check"]


@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_that_was_killed_before_it_had_the_file(warm: Sitting, killed: list[int], rank: int) -> None:
    """When a rank dies after its set was taken, the next set takes the file; on the first, no rank has run it."""
    before = len(warm.of(Notice, 0))
    killed.append(rank)
    verdict = warm.judge(_SAYS)
    told = [notice.text for notice in warm.of(Notice, 0)[before:]]
    said = "".join(log.text for log in warm.of(Log, verdict.attempt))

    assert (verdict.status, verdict.reason) == ("ok", "")
    assert told == [
        f"rank {rank} of the set that stood by died (killed by signal 9, SIGKILL): the next set takes the file"
    ]
    assert phases(warm, verdict.attempt) == ["start", "load", "check"]
    assert said.count("ran here") == warm.engine._target.world


def test_sets_that_die_again_and_again_are_no_fault_of_the_kernel(warm: Sitting, killed: list[int]) -> None:
    """When the set that was started in place of a dead one dies as well, it is infra, and the next save works."""
    killed += [0, 1]
    verdict = warm.judge(_SAYS)

    assert (verdict.status, verdict.reason) == (
        "infra", "rank 1 of the set that stood by died (killed by signal 9, SIGKILL)",
    )  # fmt: skip
    assert not warm.of(Log, verdict.attempt)
    assert warm.judge(GOOD).status == "ok"


def test_a_rank_that_does_not_take_the_file_is_not_waited_for() -> None:
    """A set with a rank that does not answer when it is given the file is told after the limit."""

    async def hold() -> None:
        ranks = CandidateSet(Zygote(), 2)
        ranks._message(0, {"event": "ready", "torch": "2.13"})
        ranks._message(0, {"event": "holding"})
        try:
            await ranks.hold("", "candidate.py", [], limit=0.01)
        finally:
            ranks.kill()

    with pytest.raises(LostSetError, match="rank 1 of the set that stood by did not answer within"):
        asyncio.run(hold())


@pytest.mark.parametrize(
    ("device", "shared", "run", "needed"),
    [
        ("cuda", None, {}, True),
        ("cuda", None, {"graph": True}, True),
        ("cuda", None, {"samples": 0}, False),
        ("cuda", None, {"protocol": "pkb"}, False),
        ("cuda", SharedGpus(count=1, name="one GPU"), {}, False),
        ("cpu", None, {}, False),
    ],
    ids=["timed", "graphs that may not be captured", "not timed", "by series", "shared GPU", "CPU"],
)
@pytest.mark.parametrize("role", ["candidate", "baseline"])
def test_sets_measure_their_pitch_where_calls_are_timed(
    role: str, device: str, shared: SharedGpus | None, run: dict[str, object], needed: bool
) -> None:
    """With `--no-perf`, ranks stand by without measuring how fast their GPUs start kernels, which only times need."""
    problem, settings = find_problem("1", []), Settings()
    binding = bind(problem, "smoke", 2, "float32")
    target = Target(
        problem=problem, binding=binding, backend="pytorch", device=device, path=Path("kernel.py"), shared=shared
    )

    async def request() -> bool:
        engine = Engine(target, replace(settings, run=replace(settings.run, **run)), EventStream())
        return bool(engine._request(role)["pitch"])

    assert asyncio.run(request()) is needed
