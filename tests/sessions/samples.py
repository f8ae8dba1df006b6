"""Targets, sources and verdicts for the tests of the sessions, and text that a crash left unsaved."""

from __future__ import annotations

from pathlib import Path

from problems.binding import bind
from problems.loader import find_problem
from tests.program import script
from workbench.events import Bandwidth, RankSummary, Ratio, Spread, Status, Verdict
from workbench.source import make_source
from workbench.target import Source, Target

_CRASH = """
import os, sys
from pathlib import Path
from sessions.recovery import Recovery
assert Recovery(Path(sys.argv[1])).write(sys.argv[2])
os._exit(1)
"""


def target(name: str = "1", world: int = 2, size: str = "smoke", path: Path = Path("/work/solution.py")) -> Target:
    """A target on CPU ranks."""
    problem = find_problem(name)
    binding = bind(problem, size, world, "bfloat16")
    return Target(problem=problem, binding=binding, backend="pytorch", device="cpu", path=path)


def source(text: str = "def solution(tensor): ...\n", path: Path = Path("/work/solution.py")) -> Source:
    """A source that need not be on disk."""
    return make_source(path, text)


def verdict(
    attempt: int = 1, status: Status = "ok", speedup: float | None = 1.5, problem: str = "1_allreduce"
) -> Verdict:
    """A verdict with every part filled in."""
    ratio = None if speedup is None else Ratio(median=speedup, low=speedup - 0.1, high=speedup + 0.1)
    spread = Spread(median=2.0, p10=1.0, p90=3.0)
    return Verdict(
        attempt=attempt, status=status, problem=problem, reason="because", trials=5, trials_passed=5, speedup=ratio,
        ranks=(RankSummary(rank=0, status=status, max_abs_err=0.25), RankSummary(rank=1, status=status)),
        candidate_ms=spread, reference_ms=spread, bandwidth=_bandwidth(), phases_ms={"load": 3.0},
        candidate_samples_ms=((2.0, 2.5), (1.5, 2.0)), environment={"torch": "2"},
    )  # fmt: skip


def crash(file: Path, text: str) -> None:
    """Let another process keep unsaved text of a file, and end without clearing it."""
    process = script(_CRASH, str(file), text, cwd=file.parent)
    process.communicate(timeout=30)
    assert process.returncode == 1


def _bandwidth() -> Bandwidth:
    return Bandwidth(
        needed_bytes=1e6, reference_bytes=2e6, gbps=0.5, reference_gbps=0.4, busbw=None, peak_gbps=2.0, share=0.25,
        label="gloo",
    )  # fmt: skip
