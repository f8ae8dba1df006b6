"""What the measured figures of a problem must be: right, well told apart from wrong ones, and as its formulas say."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from problems.binding import bind, figure
from problems.loader import load_problem
from problems.model import Binding, Problem
from tests.program import RANKS_PYTHON, ROOT
from tests.variants import HONEST, case_of, needed, not_applicable
from workbench.errors import ProblemError

WORLDS = (2, 4)
DTYPES = ("bfloat16", "float32")
ROOM = 0.5
"""Share of the tolerance that honest variants may use."""
MARGIN = 10.0
"""Least error over tolerance of wrong variants."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """One problem on some ranks in one dtype: the worst rank's figures of ``tests.problems.ranks.Found``."""

    binding: Binding
    ranks: Sequence[Mapping[str, Any]]

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self.binding.problem

    @property
    def label(self) -> str:
        """Problem, ranks and dtype, for messages."""
        return f"{self.problem.stem} P={self.binding.world} {self.binding.dtype}"

    @property
    def names(self) -> list[str]:
        """The variants that were measured."""
        return list(self.ranks[0]["variants"])

    def errors(self, name: str) -> list[float]:
        """Error over tolerance of each call of a variant."""
        return [max(found) for found in zip(*(rank["variants"][name] for rank in self.ranks))]

    def most(self, key: str) -> float:
        """The largest figure of any rank."""
        return float(max(rank[key] for rank in self.ranks))

    def margin(self, name: str) -> float:
        """The figure that decides: the largest error of an honest variant, the least of a wrong one."""
        errors = self.errors(name)
        if name == "mutates_input":
            return math.inf if any(name in rank["changed"] for rank in self.ranks) else 0.0
        if name in HONEST:
            return max(*errors, *(rank["stock"][name] for rank in self.ranks))
        return errors[-1] if name == "stale" else min(errors)


def possible(problem: Problem, world: int) -> bool:
    """Whether a problem can run on so many ranks."""
    try:
        bind(problem, "smoke", world, problem.dtypes[0])
    except ProblemError:
        return False
    return True


def measure(world: int, folder: Path, numbers: Iterable[int], limit: float) -> list[dict[str, Any]]:
    """Each rank's findings, by problem and dtype. Raises AssertionError with the output when a rank fails."""
    command = [RANKS_PYTHON, "-W", "ignore", "-m", "tests.problems.ranks", str(world), str(folder), "smoke"]
    process = subprocess.Popen(
        [*command, *map(str, numbers)], cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        _, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        _, errors = process.communicate()
        raise AssertionError(f"{world} ranks hang (limit {limit:.0f} s):\n{errors}") from None
    assert process.returncode == 0, errors
    print(errors, end="")
    return [json.loads((folder / f"{rank}.json").read_text()) for rank in range(world)]


def measured(
    folder: Path, problems: Sequence[Problem], limit: float = 240, worlds: Sequence[int] = WORLDS
) -> Iterator[Measured]:
    """Every problem on every number of ranks that it allows, in every dtype."""
    for world in worlds:
        fitting = [problem for problem in problems if possible(problem, world)]
        if not fitting:
            continue
        place = folder / f"ranks{world}"
        place.mkdir()
        ranks = measure(world, place, [problem.number for problem in fitting], limit)
        for problem in fitting:
            for dtype in DTYPES:
                found = [rank[problem.stem][dtype] for rank in ranks]
                yield Measured(bind(load_problem(problem.folder), "smoke", world, dtype), found)


def faults(case: Measured) -> list[str]:
    """What is wrong with the figures of one case; nothing when all is well."""
    return [f"{case.label}: {fault}" for check in _CHECKS for fault in check(case)]


def _oracle(case: Measured) -> Iterator[str]:
    worst = max(max(rank["oracle"]) for rank in case.ranks)
    if not worst <= 1:
        yield f"the reference is {worst:.3g} tolerances off the result of one process"


def _honest(case: Measured) -> Iterator[str]:
    for name in HONEST:
        if name in case.names:
            allowed = 0.0 if name == "reference" else ROOM
            if not case.margin(name) <= allowed:
                yield f"{name} uses {case.margin(name):.3g} of the tolerance, more than {allowed}"


def _wrong(case: Measured) -> Iterator[str]:
    for name in case.names:
        if name in HONEST or (name == "float16" and case.binding.dtype != "float32"):
            continue
        if not case.margin(name) >= MARGIN:
            yield f"{name} is only {case.margin(name):.3g} tolerances off ({_shown(case.errors(name))})"
    if "stale" in case.names and case.errors("stale")[0] != 0:
        yield "stale is off on its first call"


def _writes(case: Measured) -> Iterator[str]:
    writers = {name for rank in case.ranks for name in rank["changed"]} - {"mutates_input"}
    if writers:
        yield f"arguments that must stay are changed by {', '.join(sorted(writers))}"


def _bytes(case: Measured) -> Iterator[str]:
    figures, binding = case.problem.figures, case.binding
    if not figures.data_dependent:
        yield from _differs("reference_bytes", case.most("moved"), _largest(binding, figures.reference_bytes), 1e-6)
        yield from _differs("hbm_bytes", case.most("touched"), _largest(binding, figures.hbm_bytes), 0.02)
    least = max(needed(binding, rank) for rank in range(binding.world))
    if least > _largest(binding, figures.reference_bytes) * 1.000001:
        yield f"needed_bytes {least:.0f} are more than what the reference moves"
    if least and not {"local_only", "skip_a_rank"} & set(case.names) and not _explained(case):
        yield "needs communication, but neither local_only nor skip_a_rank was tried"


def _explained(case: Measured) -> bool:
    names = ("local_only", "skip_a_rank")
    return all(not_applicable(case.problem, name, case.binding.world) for name in names)


def _flops(case: Measured) -> Iterator[str]:
    if case.problem.figures.data_dependent:
        return
    counted, formula = case.most("flops"), _largest(case.binding, case.problem.figures.flops)
    own = getattr(case_of(case.problem.number), "FLOPS", "")
    if not own and (formula < counted * 0.999 or (counted and formula > 1.5 * counted)):
        yield f"flops: {formula:.0f} by formula, {counted:.0f} counted in products and convolutions"


def _names(case: Measured) -> Iterator[str]:
    called = {name for rank in case.ranks for name in rank["collectives"]}
    declared = set(case.problem.collectives)
    if called - declared or (case.binding.world == WORLDS[-1] and called != declared):
        yield f"collectives: calls {sorted(called)}, declares {sorted(declared)}"


def _differs(name: str, counted: float, formula: float, room: float) -> Iterator[str]:
    if abs(counted - formula) > room * max(counted, formula):
        yield f"{name}: {formula:.0f} by formula, {counted:.0f} counted"


def _largest(binding: Binding, formula: str) -> float:
    return max(figure(binding, formula, rank) for rank in range(binding.world))


def _shown(errors: Sequence[float]) -> str:
    return ", ".join(f"{error:.3g}" for error in errors)


_CHECKS: Sequence[Callable[[Measured], Iterator[str]]] = (
    _oracle,
    _honest,
    _wrong,
    _writes,
    _bytes,
    _flops,
    _names,
)
