"""The inputs of every problem: drawn as declared, and new for every timed call."""

from __future__ import annotations

import math
from typing import Any

import pytest

from problems.binding import bind, judge_job, obstacles
from problems.loader import catalogue, load_problem

torch = pytest.importorskip("torch", reason="torch is not installed for this Python")

from tests.ranks.drawing import SEED
from workbench.ranks.draws import InputSource
from workbench.ranks.tree import leaves

PROBLEMS = [load_problem(entry.folder) for entry in catalogue()]


@pytest.mark.parametrize("world", [1, 2, 4])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.stem)
def test_jobs_of_all_problems_draw_what_they_declare(problem: Any, world: int) -> None:
    """Every problem's inputs can be drawn on every rank at every scale, with the declared shapes and dtypes, finite."""
    if obstacles(problem, "smoke", problem.dtypes[0])[world]:
        return  # it cannot run on so many ranks, and says so
    for dtype in problem.dtypes:
        binding = bind(problem, "smoke", world, dtype)
        for rank in range(world):
            job = judge_job(binding, rank)
            inputs = InputSource(job, SEED, rank)
            for trial, (stock, scale) in enumerate([(True, 1.0), *((False, scale) for scale in job["scales"])]):
                drawn = inputs.draw(trial, trial, stock, scale)
                assert len(drawn) == len(problem.arguments)
                for spec, value in zip(job["inputs"], drawn):
                    check_value(spec, value)
            for delta in inputs.deltas(1, 1):
                check_delta(job["inputs"][delta.argument], delta.indices, delta.values)


def check_value(spec: dict[str, Any], value: Any) -> None:
    tensors = leaves(value)
    assert bool(tensors) == (spec["kind"] in ("tensor", "tensors", "linear", "sparse"))
    for tensor in tensors:
        assert tensor.is_contiguous() or spec["draw"]["kind"] == "code"
        assert bool(tensor.isfinite().all())
        assert tensor.dtype == getattr(torch, spec["dtype"]) or spec["kind"] == "sparse"
    # Only code makes shapes that the trial decides.
    if spec["kind"] == "tensor" and spec["judged"]["kind"] != "code":
        assert list(value.shape) == spec["shape"]
    if spec["kind"] == "tensors":
        assert [spec["shape"][1:]] * spec["shape"][0] == [list(tensor.shape) for tensor in value]
    if spec["kind"] == "linear":
        assert [list(tensor.shape) for tensor in tensors] == [spec["shape"], spec["shape"][:1]]


def check_delta(spec: dict[str, Any], indices: torch.Tensor, values: torch.Tensor) -> None:
    assert indices.dtype == torch.int64
    bias = spec["shape"][0] if spec["kind"] == "linear" else 0
    assert int(indices.max()) < math.prod(spec["shape"]) + bias
    assert values.dtype == getattr(torch, spec["dtype"])


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.stem)
def test_every_timed_call_of_every_problem_has_new_inputs(problem: Any) -> None:
    """On some rank at least one argument changes from call to call, so that an old result shows."""
    jobs = [judge_job(bind(problem, "smoke", 2, problem.dtypes[0]), rank) for rank in range(2)]
    changes = [InputSource(job, SEED, rank).deltas(1, call) for rank, job in enumerate(jobs) for call in range(3)]
    assert all(changes[:3]) or all(changes[3:])
