"""CUDA graphs and ParallelKernelBench's protocol on GPUs: what can be captured, what cannot, and ranks survive it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from problems.loader import find_problem
from tests.flow.candidates import GOOD, with_middle, without
from tests.flow.sitting import Sitting
from tests.program import RANKS_PYTHON
from workbench.devices import torch_cuda, visible_gpus

WAITS = with_middle("if out.sum().item() > 1e30:\n    out.zero_()\nout.add_(torch.rand_like(out) * 0)")
"""Waits for its GPU, then uses the random generator that a capture holds."""
WAITS_ON_1 = with_middle("if rank == 1:\n    out.sum().item()")
LOST_STREAM = without(
    "side = torch.cuda.Stream()\n"
    "def solution(tensor):\n"
    "    out = tensor.clone()\n"
    "    side.wait_stream(torch.cuda.current_stream())\n"
    "    with torch.cuda.stream(side):\n"
    "        out.mul_(1)\n"
    "    if not torch.cuda.is_current_stream_capturing():\n"
    "        torch.cuda.current_stream().wait_stream(side)\n"
    "    dist.all_reduce(out)\n"
    "    return out\n"
)
"""Leaves work on a stream of its own without waiting for it, while it is captured."""

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not visible_gpus(), reason="needs an NVIDIA GPU"),
    pytest.mark.skipif(bool(visible_gpus()) and not torch_cuda(RANKS_PYTHON), reason="the ranks' torch is a CPU build"),
]


def sitting(problem: str = "1", world: int = 1, **run: object) -> Sitting:
    """GPU ranks, timed by 40 samples from graphs unless ``run`` says otherwise."""
    found = find_problem(problem, [])
    how = {"samples": 40, "trials": 2, "graph": True, **run}
    return Sitting(found, world, found.dtypes[0], 30.0, device="cuda", **how)


@pytest.fixture(scope="module")
def graphs() -> Iterator[Sitting]:
    """One rank on problem 1 for the whole module."""
    made = sitting()
    yield made
    made.close()


def test_a_captured_reference_is_right_and_not_slower(graphs: Sitting) -> None:
    """Replays give the results of their own inputs, labelled, and need no longer than plain calls."""
    captured = graphs.judge(GOOD)
    calls = sitting(graph=False)
    plain = calls.judge(GOOD)
    calls.close()

    assert (captured.status, captured.reason, captured.graph) == ("ok", "", True)
    assert (plain.status, plain.graph) == ("ok", False)
    assert not [flag for flag in captured.flags if flag.startswith("not-captured")]
    assert captured.candidate_ms is not None
    assert plain.candidate_ms is not None
    assert captured.candidate_ms.median < 1.5 * plain.candidate_ms.median


@pytest.mark.parametrize("text", [WAITS, LOST_STREAM], ids=["waits for its GPU", "leaves a stream behind"])
def test_what_cannot_be_captured_is_timed_by_plain_calls(graphs: Sitting, text: str) -> None:
    """Both sides are timed without graphs then, the reason is told, and later calls and attempts work as ever."""
    verdict = graphs.judge(text)
    after = graphs.judge(GOOD)

    assert (verdict.status, verdict.reason, verdict.graph) == ("ok", "", False)
    assert verdict.speedup is not None
    (flag,) = [flag for flag in verdict.flags if flag.startswith("not-captured")]
    assert flag.startswith("not-captured (candidate: ")
    assert (after.status, after.graph) == ("ok", True)


def test_a_captured_call_that_replays_old_results_is_wrong(graphs: Sitting) -> None:
    """A call whose captured part leaves out the work gives no result of its inputs, which is seen."""
    text = with_middle("if torch.cuda.is_current_stream_capturing():\n    return out.fill_(3)")

    assert graphs.judge(text).status == "wrong"


def test_a_reference_that_cannot_be_captured() -> None:
    """Where the reference waits for its GPU, attempt after attempt is timed by plain calls, and says why."""
    problem = find_problem("85", [])
    made = sitting("85")
    try:
        for copy in range(2):
            verdict = made.judge(f"{problem.reference_source()}\n# copy {copy}\n")
            assert (verdict.status, verdict.reason, verdict.graph) == ("ok", "", False)
            assert [flag for flag in verdict.flags if flag.startswith("not-captured (")], verdict.flags
    finally:
        made.close()


@pytest.mark.skipif(visible_gpus() < 2, reason="needs two NVIDIA GPUs")
def test_one_rank_that_cannot_be_captured() -> None:
    """Where one of two ranks cannot be captured, neither is replayed, and no rank waits for the other forever."""
    made = sitting(world=2)
    try:
        alone, both = made.judge(WAITS_ON_1), made.judge(GOOD)
    finally:
        made.close()

    assert (alone.status, alone.reason, alone.graph) == ("ok", "", False)
    assert (both.status, both.reason, both.graph) == ("ok", "", True)


def test_the_protocol_on_gpus() -> None:
    """References are timed by series of calls with events between them; results are compared after each series."""
    made = sitting("13", graph=False, protocol="pkb")
    try:
        verdict = made.judge(find_problem("13", []).reference_source())
    finally:
        made.close()

    assert (verdict.status, verdict.reason, verdict.protocol) == ("ok", "", "pkb")
    assert [len(row) for row in verdict.candidate_samples_ms] == [200]
    assert "repeated-values" in verdict.flags
