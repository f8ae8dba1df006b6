"""The engine on problems of every kind: honest variants are ok, wrong ones get their status, on two ranks."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from problems.loader import find_problem
from problems.model import Problem
from tests.flow.sitting import Sitting
from tests.variants import HONEST, WRONG, variant_source
from workbench.events import Verdict

TRIALS = 5
KINDS = ("1", "3", "5", "6", "7", "8", "13", "42", "54", "64", "73", "9", "21", "30", "31", "63", "69", "79", "81")
"""Plain collectives; training steps; point to point; data-dependent lengths; inputs made by code, lists of tensors,
linear layers, arguments updated in place, bounds and labels within ties, shapes that the trial decides."""
EXPECTED = {**dict.fromkeys(HONEST, "ok"), **dict.fromkeys(WRONG, "wrong"), "mutates_input": "contract"}
OF_ANOTHER_FORM = {("unchanged", 21), ("local_only", 69)}
"""Variants whose result is right or cannot be compared: gradients that are not scaled, another number of rows."""
each_problem = pytest.mark.parametrize(
    "problem", [find_problem(number, []) for number in KINDS], ids=lambda problem: problem.stem
)


def verdicts(problem: Problem, dtype: str, names: Iterable[str]) -> dict[str, Verdict]:
    """The verdict on every named variant that applies to the problem, all judged in one sitting."""
    texts = {name: variant_source(problem, name) for name in names}
    sitting = Sitting(problem, 2, dtype, limit=60, trials=TRIALS)
    try:
        return {name: sitting.judge(text) for name, text in texts.items() if text is not None}
    finally:
        sitting.close()


def _expected(problem: Problem, name: str) -> str:
    return "contract" if (name, problem.number) in OF_ANOTHER_FORM else EXPECTED[name]


@each_problem
def test_every_variant_gets_its_status(problem: Problem) -> None:
    """In bfloat16, another order or a wider sum is ok in all trials, and each kind of wrong result is found."""
    found = verdicts(problem, "bfloat16", [name for name in EXPECTED if name != "float16"])

    expected = {name: _expected(problem, name) for name in found}
    assert {name: verdict.status for name, verdict in found.items()} == expected
    for name, verdict in found.items():
        ranks = [rank.status for rank in verdict.ranks]
        if expected[name] == "ok":
            assert (ranks, verdict.trials_passed, verdict.reason) == (["ok", "ok"], TRIALS, ""), name
        else:
            assert expected[name] in ranks, name
            assert verdict.reason, name
    assert found["stale"].trials_passed == 1
    assert [rank.status for rank in found["one_rank_wrong"].ranks] == ["ok", "wrong"]
    if "mutates_input" in found:
        assert "was changed" in found["mutates_input"].reason


@each_problem
def test_float16_does_not_pass_for_float32(problem: Problem) -> None:
    """In a float32 run a result that went through float16 is wrong, and the reference itself is ok."""
    found = verdicts(problem, "float32", ["reference", "float16"])

    assert {name: verdict.status for name, verdict in found.items()} == {name: EXPECTED[name] for name in found}
