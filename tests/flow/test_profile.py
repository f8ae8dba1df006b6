"""The profile of a call on real ranks: what it tells, and that a candidate can gain nothing by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from problems.loader import find_problem
from tests.flow.candidates import GOOD, without
from tests.flow.sitting import Sitting, source
from workbench.flow import profiling
from workbench.ranks.peer import _is_span
from workbench.ranks.profiled import MOST_NAME

OVERLAPS = without(
    "def solution(tensor):\n"
    "    out = tensor.clone()\n"
    "    work = dist.all_reduce(out, async_op=True)\n"
    "    product = tensor @ tensor.T\n"
    "    work.wait()\n"
    "    return out\n"
)


def under_profiler(line: str) -> str:
    """A good candidate that does something else when it is profiled."""
    return without(
        "def solution(tensor):\n"
        f"    if torch.autograd._profiler_enabled():\n        {line}\n"
        "    out = tensor.clone()\n"
        "    dist.all_reduce(out)\n"
        "    return out\n"
    )


@pytest.fixture
def sitting() -> Iterator[Sitting]:
    """Problem 1 on two CPU ranks with few timed calls and a profile."""
    one = Sitting(find_problem("1"), limit=20.0, samples=5, trials=1, profile=True)
    yield one
    one.close()


def test_stages_of_a_call_on_each_rank(sitting: Sitting) -> None:
    """Both ranks have compute and communication that add up to the call, and what ran is told by name."""
    verdict = sitting.judge(OVERLAPS)
    profile = verdict.profile
    assert verdict.status == "ok"
    assert profile is not None
    assert (len(profile.ranks), profile.note) == (2, "")
    for one in profile.ranks:
        assert one.compute_ms > 0
        assert one.communication_ms > 0
        busy = one.compute_ms + one.communication_ms - one.overlap_ms
        assert one.whole_ms == pytest.approx(busy + one.gap_ms)
    ran = {(one.kind, one.name): one.calls for one in profile.ran}
    assert ran["collective", "all_reduce"] == 1
    assert ran["operator", "aten::matmul"] == 1
    assert ran["operator", "aten::clone"] == 1


def test_profile_of_a_proposal_alone() -> None:
    """Who asks for none waits for none; a model's proposal gets one, since the model is told of it."""
    one = Sitting(find_problem("1"), limit=20.0, samples=5, trials=1)
    saved = one.judge(GOOD)
    one.run(_propose(one))
    proposed = one.verdict()
    one.close()
    assert (saved.status, saved.profile) == ("ok", None)
    assert proposed.profile is not None
    assert len(proposed.profile.ranks) == 2


async def _propose(sitting: Sitting) -> int:
    return sitting.engine.submit(source(OVERLAPS), "model")


@pytest.mark.parametrize(
    ("line", "note"),
    [("1 / 0", "failed on rank 0: ZeroDivisionError"), ("os._exit(0)", "failed on rank 0"), ("out = 1", "")],
    ids=["raises", "exits", "does nothing"],
)
def test_a_profiled_call_that_fails_changes_no_verdict(sitting: Sitting, line: str, note: str) -> None:
    """The verdict and the times stand, and the profile says what happened; the next attempt runs."""
    verdict = sitting.judge(under_profiler(line))
    assert verdict.status == "ok"
    assert verdict.speedup is not None
    assert verdict.profile is not None
    assert note in verdict.profile.note
    assert bool(verdict.profile.note) is bool(note)
    assert sitting.judge(GOOD).status == "ok"


def test_a_profiled_call_that_hangs_is_given_up(sitting: Sitting, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rank that never returns from the profiled call costs no verdict, and the next attempt runs."""
    monkeypatch.setattr(profiling, "LIMIT_S", 1.0)
    verdict = sitting.judge(under_profiler("time.sleep(1e6)"))
    assert (verdict.status, verdict.profile and verdict.profile.note) == ("ok", "the profiled call did not end")
    assert sitting.judge(GOOD).status == "ok"


@pytest.mark.parametrize(
    ("found", "right"),
    [
        (["aten::mm", "host", 0, 5], True),
        (["aten::mm", "verdict", 0, 5], False),
        (["aten::mm", "host", 5, 0], False),
        (["aten::mm", "host", -1, 5], False),
        (["aten::mm", "host", 0, 1 << 70], False),
        (["aten::mm", "host", True, 5], False),
        (["aten::mm", "host", 0.5, 5], False),
        (["aten::mm", "host", 0], False),
        (["x" * (MOST_NAME + 1), "host", 0, 5], False),
        ([["nested"], "host", 0, 5], False),
        ("not a list", False),
    ],
)
def test_spans_are_checked(found: Any, right: bool) -> None:
    """What a rank sends as a span is believed only in its form: short texts, times in order."""
    assert _is_span(found) is right
