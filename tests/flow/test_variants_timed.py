"""The engine on problems of every kind: timed calls are checked too, and other numbers of ranks are judged alike."""

from __future__ import annotations

import pytest

from problems.loader import find_problem
from problems.model import Problem
from tests.flow.sitting import Sitting
from tests.flow.test_variants import KINDS
from tests.variants import HONEST, variant_source

PROBLEMS = [find_problem(number, []) for number in KINDS]


def text_of(problem: Problem, name: str) -> str:
    """The text of a variant that applies to the problem."""
    text = variant_source(problem, name)
    assert text is not None
    return text


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.stem)
def test_timed_calls_are_checked(problem: Problem) -> None:
    """A result of the call before passes the only trial and is found in the timing; an honest one is never wrong."""
    honest = next(name for name in reversed(HONEST) if variant_source(problem, name) is not None)
    sitting = Sitting(problem, 2, "bfloat16", limit=60, trials=1, samples=20)
    try:
        good, stale = (sitting.judge(text_of(problem, name)) for name in (honest, "stale"))
    finally:
        sitting.close()

    assert good.status == "ok"
    assert [rank.status for rank in good.ranks] == ["ok", "ok"]
    assert (stale.status, stale.trials_passed) == ("wrong", 1)
    assert "timed call" in stale.reason
    assert stale.speedup is None


@pytest.mark.parametrize("number", ["1", "7", "8", "13", "54"])
def test_a_missing_rank_of_four_shows(number: str) -> None:
    """On four ranks the sum or exchange without one of them, or without all others, is wrong."""
    problem = find_problem(number, [])
    sitting = Sitting(problem, 4, "bfloat16", limit=60, trials=5)
    try:
        found = {name: sitting.judge(text_of(problem, name)) for name in ("reference", "local_only", "skip_a_rank")}
    finally:
        sitting.close()

    statuses = {name: verdict.status for name, verdict in found.items()}
    assert statuses == {"reference": "ok", "local_only": "wrong", "skip_a_rank": "wrong"}
    assert [len(verdict.ranks) for verdict in found.values()] == [4, 4, 4]


@pytest.mark.parametrize(
    ("number", "world"),
    [("1", 1), ("5", 1), ("42", 1), ("64", 1), ("2", 3), ("18", 3), ("64", 3), ("1", 8), ("8", 8), ("54", 8)],
)
def test_other_numbers_of_ranks_are_judged_alike(number: str, world: int) -> None:
    """From one rank to eight the reference is ok on every rank and zeros are wrong on every rank."""
    problem = find_problem(number, [])
    sitting = Sitting(problem, world, "bfloat16", limit=60, trials=5)
    try:
        good, zeros = (sitting.judge(text_of(problem, name)) for name in ("reference", "zeros"))
    finally:
        sitting.close()

    assert [rank.status for rank in good.ranks] == ["ok"] * world
    assert (good.status, good.trials_passed) == ("ok", 5)
    assert [rank.status for rank in zeros.ranks] == ["wrong"] * world
