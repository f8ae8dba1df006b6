"""A problem at one size, world size and dtype."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from problems.binding import bind, figure, judge_job, obstacles, shape_of
from problems.loader import catalogue, find_problem, load_problem
from problems.model import Problem
from problems.starter import working_file
from problems.wording import largest
from workbench.errors import ProblemError, UsageError

PROBLEMS = [load_problem(entry.folder) for entry in catalogue()]
each_problem = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.stem)


def test_symbols() -> None:
    """Derived symbols follow the base shape, the world size and those before them."""
    symbols = bind(find_problem("42"), "default", 4, "bfloat16").symbols
    assert symbols["W"] == 262912
    assert symbols["part"] * 4 == symbols["W"]
    assert (symbols["P"], symbols["itemsize"]) == (4, 2)


def test_own_size() -> None:
    """MxN sets the two base symbols and keeps the others."""
    binding = bind(find_problem("1"), "512x256", 2, "float32")
    assert shape_of(binding, binding.problem.inputs[0], 1) == (512, 256)
    assert figure(binding, binding.problem.figures.needed_bytes) == 512 * 256 * 4


def test_shapes_differ_between_ranks() -> None:
    """Where ranks hold different shapes, each rank gets its own; a length that the data decide is -1."""
    scatter = bind(find_problem("5_scatter"), "smoke", 4, "bfloat16")
    assert shape_of(scatter, scatter.problem.inputs[0], 0) == (4, 128, 128)
    assert shape_of(scatter, scatter.problem.inputs[0], 3) == (128, 128)
    sampling = bind(find_problem("64"), "smoke", 4, "bfloat16")
    assert shape_of(sampling, sampling.problem.outputs[0], 0) == (-1,)


@pytest.mark.parametrize(
    ("number", "size", "world", "dtype", "message"),
    [
        ("73", "default", 3, "bfloat16", "cannot run on 3 ranks: 512 % P must be 0; possible up to 8: 1, 2, 4, 8"),
        ("42", "default", 3, "bfloat16", "cannot run on 3 ranks: formula"),
        ("1", "default", 0, "bfloat16", "cannot run on 0 ranks"),
        ("1", "default", 2, "bf16", "no dtype 'bf16'; did you mean 'bfloat16'?"),
        ("1", "defualt", 2, "bfloat16", "there is no size 'defualt'; did you mean 'default'?"),
        ("1", "0x128", 2, "bfloat16", "there is no size '0x128'"),
        ("73", "128x128", 2, "bfloat16", "do not depend on M and N; use smoke, default, large"),
    ],
)
def test_impossible(number: str, size: str, world: int, dtype: str, message: str) -> None:
    """What a problem cannot do is said together with what it can."""
    with pytest.raises(ProblemError) as error:
        bind(find_problem(number), size, world, dtype)
    assert message in str(error.value)


def worlds(problem: Problem) -> list[int]:
    """Those of 1, 2, 4 and 8 ranks on which a problem runs."""
    reasons = obstacles(problem, "default", problem.dtypes[0])
    return [world for world in (1, 2, 4, 8) if not reasons[world]]


NOTHING_NEEDED = {39: {2, 4, 8}, 51: {2}}
"""Problems and numbers of ranks on which every rank can compute its result from its own arguments."""


@each_problem
def test_runs_on_powers_of_two(problem: Problem) -> None:
    """Every problem can be bound at every size and dtype on 2, 4 and 8 ranks, and on 1 unless it says why not."""
    assert {2, 4, 8} <= set(worlds(problem))
    for size in ("smoke", "default", "large"):
        for world in worlds(problem):
            for dtype in problem.dtypes:
                binding = bind(problem, size, world, dtype)
                shapes = [shape_of(binding, item, world - 1) for item in problem.inputs]
                assert all(length > 0 for shape in shapes for length in shape)


@each_problem
def test_figures(problem: Problem) -> None:
    """One rank needs to move nothing; many do unless the notes say why not; the reference never moves less."""
    for world in worlds(problem):
        binding = bind(problem, "default", world, problem.dtypes[0])
        needed, moved = largest(binding, "needed_bytes"), largest(binding, "reference_bytes")
        assert 0 <= needed <= moved * 1.0001
        assert (needed == 0) == (world == 1 or world in NOTHING_NEEDED.get(problem.number, ()))
        assert largest(binding, "hbm_bytes") > 0
    assert ("Needs no communication" in problem.notes) == (problem.number in NOTHING_NEEDED)


@each_problem
def test_judge_job_is_plain_data(problem: Problem) -> None:
    """A judge's job survives JSON and holds every argument that the caller passes, in call order."""
    binding = bind(problem, "smoke", 2, "bfloat16")
    for rank in range(2):
        job = judge_job(binding, rank)
        assert json.loads(json.dumps(job)) == job
        assert [item["name"] for item in job["inputs"]] == [item.name for item in problem.inputs if not item.default]
        for rule in (job["rule"], *job["outputs"]):
            assert {"compare", "rms", "rel", "share"} <= set(rule)


def test_working_file() -> None:
    """Working files are named by backend and stem."""
    path = working_file(find_problem("42"), "pytorch", "/w")
    assert path == Path("/w/solutions_pytorch/42_zero2_optimizer_shard_grad_pytorch.py")


def test_unknown_backend() -> None:
    """An unknown backend is refused with the known ones."""
    with pytest.raises(UsageError, match="did you mean 'pytorch'\\?; known: pytorch"):
        working_file(find_problem("42"), "pytroch", "/w")
