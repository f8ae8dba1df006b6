"""The matrix of problems, dtypes and variants on some ranks, measured once for a whole module of tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path

import pytest

from problems.loader import catalogue, load_problem
from problems.model import Problem
from tests.problems.checks import DTYPES, Measured, measured, possible

PROBLEMS = [load_problem(entry.folder) for entry in catalogue()]
_TOGETHER = 12
"""Problems that are measured by one set of ranks; a set costs about a second."""
Lookup = Callable[[Problem, str], Measured]


def cases(world: int) -> list[object]:
    """Parameters: every problem that runs on so many ranks, in every dtype."""
    fitting = [problem for problem in PROBLEMS if possible(problem, world)]
    return [pytest.param(problem, dtype, id=f"{problem.stem}-{dtype}") for problem in fitting for dtype in DTYPES]


def lookup(factory: pytest.TempPathFactory, world: int) -> Lookup:
    """A function that gives a case, measuring its whole chunk of problems when it is the first of them."""
    fitting = [problem for problem in PROBLEMS if possible(problem, world)]
    stems = [problem.stem for problem in fitting]

    @cache
    def chunk(number: int) -> dict[str, Measured]:
        part = fitting[number * _TOGETHER : (number + 1) * _TOGETHER]
        return {case.label: case for case in _measured(factory.mktemp(f"ranks{world}"), part, world)}

    def find(problem: Problem, dtype: str) -> Measured:
        return chunk(stems.index(problem.stem) // _TOGETHER)[f"{problem.stem} P={world} {dtype}"]

    return find


def _measured(folder: Path, problems: Sequence[Problem], world: int) -> list[Measured]:
    return list(measured(folder, problems, worlds=(world,)))
