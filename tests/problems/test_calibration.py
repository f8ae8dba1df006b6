"""Tolerances: honest variants pass with room to spare and wrong ones fail by far, on real ranks at smoke size."""

from __future__ import annotations

import json
import math
import subprocess
from typing import Any

import pytest

from problems.loader import catalogue, load_problem
from tests.program import RANKS_PYTHON, ROOT
from tests.variants import HONEST, NAMES, WRONG, not_applicable, variant_source

ENTRIES = catalogue()
WORLDS = (2, 4)
_BY_VALUE = [name for name in WRONG if name not in ("stale", "float16", "mutates_input")]
each_case = [
    pytest.param(entry.stem, world, dtype, id=f"{entry.stem}-{world}-{dtype}")
    for entry in ENTRIES
    for world in WORLDS
    for dtype in ("bfloat16", "float32")
]


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[dict[str, Any]]]:
    """For each world size, what every rank found for every problem, dtype and variant."""
    found = {}
    for world in WORLDS:
        folder = tmp_path_factory.mktemp(f"ranks{world}")
        command = [RANKS_PYTHON, "-W", "ignore", "-m", "tests.problems.ranks", str(world), str(folder), "smoke"]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=110)
        assert done.returncode == 0, done.stderr
        found[world] = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(world)]
    return found


def worst(ranks: list[dict[str, Any]], stem: str, dtype: str, name: str) -> list[float]:
    """Error over tolerance of the two calls, and whether an argument changed: the worst rank's."""
    return [max(rank[stem][dtype][name][i] for rank in ranks) for i in range(3)]


@pytest.mark.parametrize(("stem", "world", "dtype"), each_case)
def test_reference_follows_the_statement(measured: dict[int, Any], stem: str, world: int, dtype: str) -> None:
    """Each rank's reference result is what the statement's formula gives for all ranks' arguments in one process."""
    assert max(max(rank[stem][dtype]["formula"]) for rank in measured[world]) <= 1


@pytest.mark.parametrize(("stem", "world", "dtype"), each_case)
def test_honest_variants_pass(measured: dict[int, Any], stem: str, world: int, dtype: str) -> None:
    """A wider accumulation or another order of summation uses at most half of the tolerance."""
    for name in HONEST:
        if name in measured[world][0][stem][dtype]:
            first, second, changed = worst(measured[world], stem, dtype, name)
            assert max(first, second) <= (0.0 if name == "reference" else 0.5), name
            assert not changed, name


@pytest.mark.parametrize(("stem", "world", "dtype"), each_case)
def test_wrong_variants_fail(measured: dict[int, Any], stem: str, world: int, dtype: str) -> None:
    """Zeros, missing ranks and another rank's result are off by ten times the tolerance or more, at every scale."""
    for name in _BY_VALUE:
        if name in measured[world][0][stem][dtype]:
            assert min(worst(measured[world], stem, dtype, name)[:2]) >= 10, name


@pytest.mark.parametrize(("stem", "world", "dtype"), each_case)
def test_stale_result_fails(measured: dict[int, Any], stem: str, world: int, dtype: str) -> None:
    """The result of the call before is right once and far off then."""
    first, second, _ = worst(measured[world], stem, dtype, "stale")
    assert first == 0
    assert second >= 10


@pytest.mark.parametrize("world", WORLDS)
def test_float16_fails_in_float32(measured: dict[int, Any], world: int) -> None:
    """A result that passed through float16 is refused in a float32 run."""
    for entry in ENTRIES:
        if not not_applicable(load_problem(entry.folder), "float16"):
            assert min(worst(measured[world], entry.stem, "float32", "float16")[:2]) >= 10, entry.stem


@pytest.mark.parametrize("world", WORLDS)
def test_only_the_mutating_variant_changes_its_arguments(measured: dict[int, Any], world: int) -> None:
    """The variant that writes to an argument does so, returns the right result, and is the only one."""
    for entry in ENTRIES:
        for dtype in ("bfloat16", "float32"):
            names = measured[world][0][entry.stem][dtype]
            changing = [
                name for name in names if name != "formula" and worst(measured[world], entry.stem, dtype, name)[2]
            ]
            assert changing == ["mutates_input"], entry.stem
            assert worst(measured[world], entry.stem, dtype, "mutates_input")[:2] == [0, 0]


@pytest.mark.parametrize("name", NAMES)
def test_variants_apply_or_say_why(name: str) -> None:
    """Every variant of every problem is a whole file, or has a reason for not applying."""
    for entry in ENTRIES:
        problem = load_problem(entry.folder)
        source = variant_source(problem, name)
        assert (source is None) == bool(not_applicable(problem, name)), entry.stem
        if source is not None:
            compile(source, f"{entry.stem}_{name}.py", "exec")


def test_ratio_of_exact_problems_is_all_or_nothing(measured: dict[int, Any]) -> None:
    """Where only data move, one wrong element is as wrong as all of them."""
    exact = [entry.stem for entry in ENTRIES if load_problem(entry.folder).compare == "exact"]
    assert exact
    for stem in exact:
        assert {worst(measured[2], stem, "float32", name)[0] for name in ("reference", "zeros")} == {0.0, math.inf}
