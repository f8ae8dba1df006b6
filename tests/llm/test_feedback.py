"""What each level of feedback tells of each kind of verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.llm import pins
from workbench.events import Diagnostic, Event, Log, RankStack, RankSummary, RankVerdict, Ratio, Verdict
from workbench.llm.feedback import LEVELS, Collected, Context, feedback_text
from workbench.llm.templates import Templates

PATH = "/srv/alice/acme/1_allreduce_cuda.py"
STACK = f"""Current thread 0x00007f (most recent call first):
  File "/srv/alice/env/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", line 9 in barrier
  File "{PATH}", line 5 in solution
  File "/srv/alice/pkwb/workbench/ranks/candidate.py", line 126 in _made
  File "<string>", line 18 in <module>"""
BAD = {"first_bad": "out[3, 5]", "expected": "0.75", "got": "7.75"}
NEAR = "out[3, 4:7]: expected -1.25, 0.75, 1.15; got -1.25, 7.75, 1.15"
NEVER_BELOW_FULL = ("1.34", "0.090 ms", "GB/s", "quick build", "registers", "Best so far", "212.5", "compute", "phases")
"""Parts of the figures of the pinned right verdict."""


def told(level: str, verdict: Verdict, *events: Event, target: float = 0.0) -> str:
    """The text of one level."""
    collected = Collected()
    for event in events:
        collected.take(event)
    return feedback_text(verdict, collected, Context(level, target, best="1.10x, your proposal 2"), Templates())


def failed(status: str, reason: str) -> Verdict:
    """A verdict on a version that is not right, with the times that it took all the same."""
    ranks = tuple(RankSummary(rank=rank, status=status, detail=reason) for rank in range(2))  # type: ignore[arg-type]
    right = pins._right()
    return replace(right, status=status, reason=reason, ranks=ranks, speedup=None, profile=None)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", LEVELS)
def test_figures_belong_to_full(level: str) -> None:
    """Below the level full a right version is told to be right, and no time, rate, build or best version."""
    text = told(level, pins._right(), *pins._right_events())
    assert "The result is right" in text
    assert [part in text for part in NEVER_BELOW_FULL] == [level == "full"] * len(NEVER_BELOW_FULL)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("status", ["build-error", "load-error", "crash", "hang", "wrong", "contract", "suspect"])
def test_reason_at_every_level(status: str, level: str) -> None:
    """Status and reason of what is not right are told at every level, without a speedup or a target."""
    text = told(level, failed(status, "because of line 7"), target=1.5)
    assert f"1_allreduce  {status}: because of line 7".replace("1_allreduce", "13_gemm_allreduce") in text
    assert "Propose a whole file in which this is put right." in text
    assert "speedup" not in text
    assert "Target" not in text
    assert ("phases" in text) == (level == "full")


@pytest.mark.parametrize("level", LEVELS)
def test_first_wrong_element(level: str) -> None:
    """The first wrong element is told at every level, what is around it at the level full alone."""
    wrong = RankVerdict(rank=1, trial=2, trials=5, status="wrong", near=NEAR, **BAD)  # type: ignore[arg-type]
    text = told(level, failed("wrong", "rank 1"), wrong, replace(wrong, rank=0))
    assert text.index("rank 0, trial 3") < text.index("rank 1, trial 3")
    assert "rank 1, trial 3: out[3, 5]: expected 0.75, got 7.75" in text
    assert (NEAR in text) == (level == "full")


@pytest.mark.parametrize("level", LEVELS)
def test_stack_of_a_hang(level: str) -> None:
    """Where ranks stand is in the reason at every level; stacks are of the level full, the user's frames alone."""
    stack = RankStack(rank=0, where="barrier, 1_allreduce_cuda.py:5", stack=STACK, line=5)
    text = told(level, failed("hang", "rank 0: barrier, 1_allreduce_cuda.py:5; rank 1: returned"), stack)
    assert "rank 0: barrier, 1_allreduce_cuda.py:5; rank 1: returned" in text
    assert ('File "1_allreduce_cuda.py", line 5 in solution' in text) == (level == "full")
    assert ('File "torch/distributed/distributed_c10d.py", line 9 in barrier' in text) == (level == "full")
    assert "candidate.py" not in text


@pytest.mark.parametrize("level", LEVELS)
def test_folders_are_not_told(level: str) -> None:
    """Errors, tracebacks and output name files without the folders in which the user keeps them."""
    error = Diagnostic(severity="error", message=f"boom in {PATH}", path=PATH, line=6)
    trace = Log(rank=0, stream="stderr", text=f'  File "{PATH}", line 6, in solution\n    raise Boom\nBoom: {PATH}\n')
    text = told(level, failed("crash", f"all ranks: Boom: {PATH}"), error, trace)
    assert "1_allreduce_cuda.py:6: error: boom in 1_allreduce_cuda.py" in text
    assert 'File "1_allreduce_cuda.py", line 6, in solution' in text
    assert "alice" not in text


def test_output_is_told_of_what_failed_only() -> None:
    """The newest lines of a rank's output are told with a failure; none when all is right."""
    log = Log(rank=0, stream="stdout", text="".join(f"line {number}\n" for number in range(100)))
    text = told("errors", failed("crash", "boom"), log)
    assert "line 99" in text
    assert "line 59\n" not in text
    assert "line 99" not in told("full", pins._right(), log)


def test_long_output_is_cut() -> None:
    """Long lines end with a sign, and of many lines the middle is left out, with their count."""
    text = told("errors", failed("crash", "boom"), Log(rank=0, stream="stdout", text="x" * 300 + "\n"))
    assert f"{'x' * 200}" in text
    assert "x ..." in text
    assert "x" * 250 not in text
    logs = [Log(rank=rank, stream="stdout", text=f"rank {rank} says\n" * 39) for rank in range(2)]
    text = told("errors", failed("crash", "boom"), *logs)
    assert "... 20 lines left out ..." in text
    assert "rank 1 says" in text


@pytest.mark.parametrize("level", LEVELS)
def test_why_nothing_was_timed(level: str) -> None:
    """That a right version has no times is told with its reason at the level full."""
    right = replace(pins._right(), speedup=None, not_timed="2 ranks share a GPU")
    assert ("not timed: 2 ranks share a GPU" in told(level, right)) == (level == "full")


def test_threshold_without_a_target_is_the_reference() -> None:
    """Where no target was set the level threshold holds a version against the reference."""
    assert "Target of 1 times the reference's speed: reached." in told("threshold", pins._right())
    assert "Target" not in told("errors", pins._right(), target=1.5)
    assert "Target of 1.5 times the reference's speed: not reached." in told("full", pins._right(), target=1.5)


def test_a_speedup_without_an_interval_reaches_no_target() -> None:
    """A version that was timed too little for an interval may have been lucky."""
    lucky = replace(pins._right(), speedup=Ratio(median=3.0))
    assert "Target of 1.5 times the reference's speed: not reached." in told("threshold", lucky, target=1.5)
