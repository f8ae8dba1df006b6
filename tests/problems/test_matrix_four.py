"""Every problem on four ranks: the reference is right, honest variants pass with room, wrong ones fail by far."""

from __future__ import annotations

import json

import pytest

from problems.model import Problem
from tests.problems.checks import faults
from tests.problems.matrix import Lookup, cases, lookup
from tests.problems.report import RECORDED, margins, worse

WORLD = 4
pytestmark = [pytest.mark.matrix, pytest.mark.timeout(300)]
each_case = pytest.mark.parametrize(("problem", "dtype"), cases(WORLD))


@pytest.fixture(scope="module")
def find(tmp_path_factory: pytest.TempPathFactory) -> Lookup:
    """The measured figures of a problem in a dtype."""
    return lookup(tmp_path_factory, WORLD)


@each_case
def test_the_check_tells_right_from_wrong(find: Lookup, problem: Problem, dtype: str) -> None:
    """Reference, variants, bytes, operations and collectives are what the problem declares."""
    assert faults(find(problem, dtype)) == []


@each_case
def test_no_margin_is_worse_than_recorded(find: Lookup, problem: Problem, dtype: str) -> None:
    """The margins are not worse than those of docs/problems.md."""
    case = find(problem, dtype)
    recorded = json.loads(RECORDED.read_text())
    assert case.label in recorded, "run make problems-report"
    assert worse(margins([case]), {case.label: recorded[case.label]}) == []
