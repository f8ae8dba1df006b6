"""From what each rank did to one status: cause and consequence, hangs, missing ranks, and the order of severity."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from workbench.events import RankSummary, Status
from workbench.judge.verdicts import SEVERITY, Answer, first_cause, overall, reason, settle

OK = {"status": "ok", "max_abs": 0.5, "max_rel": 0.25, "ratio": 0.1, "first_bad": "", "detail": ""}
WRONG = {
    "status": "wrong",
    "max_abs": 3.0,
    "max_rel": 2.0,
    "ratio": 9.0,
    "detail": "",
    "first_bad": "out[3, 5]",
    "expected": "1.5",
    "got": "4.5",
}
CONTRACT = {"status": "contract", "detail": "out has dtype float32, the reference bfloat16"}


def crashed(at: int, words: str = "ValueError: boom", secondary: bool = False) -> dict[str, Any]:
    """The report of a rank whose call raised an exception at a time in ns."""
    return {"status": "crash", "detail": words, "at": at, "failure": {"line": 3, "secondary": secondary}}


def lost(at: int) -> dict[str, Any]:
    """The report of a rank whose collective failed because another rank was gone."""
    return crashed(at, "RuntimeError: Connection closed by peer", secondary=True)


def answers(*found: dict[str, Any]) -> list[Answer]:
    """Answers of ranks 0, 1, ... from their fields."""
    return [Answer(rank=rank, **fields) for rank, fields in enumerate(found)]


def judged(*found: dict[str, Any]) -> tuple[Status, list[Status], str]:
    """Status of the whole, of each rank, and the reason."""
    given = answers(*found)
    ranks = settle(given)
    status = overall(ranks)
    cause = first_cause(given)
    return status, [rank.status for rank in ranks], reason(status, ranks, cause.rank if cause else None)


def test_all_ranks_right_is_ok() -> None:
    """When every rank was compared and passed, the verdict is ok and needs no reason."""
    assert judged({"report": OK}, {"report": OK}) == ("ok", ["ok", "ok"], "")


def test_figures_of_the_comparison_reach_the_summary() -> None:
    """Errors, first bad index and the values there are shown for the rank that had them."""
    _right, bad = settle(answers({"report": OK}, {"report": WRONG}))
    assert (bad.max_abs_err, bad.max_rel_err, bad.first_bad) == (3.0, 2.0, "out[3, 5]")
    assert bad.detail == "out[3, 5] is 4.5, expected 1.5"


def test_one_wrong_rank_is_wrong() -> None:
    """One rank with a wrong result decides, and the reason names it."""
    assert judged({"report": OK}, {"report": WRONG}) == (
        "wrong",
        ["ok", "wrong"],
        "rank 1: out[3, 5] is 4.5, expected 1.5",
    )


def test_ranks_that_fail_alike_are_named_together() -> None:
    """The reason says which ranks, and "all ranks" where none is left out."""
    assert judged({"report": WRONG}, {"report": WRONG})[2].startswith("all ranks: ")
    assert judged({"report": WRONG}, {"report": OK}, {"report": WRONG})[2].startswith("ranks 0, 2: ")
    assert judged({"report": WRONG})[2].startswith("rank 0: ")


def test_a_rank_without_an_answer_is_never_ok() -> None:
    """A rank that said nothing makes the whole unknown, however right the others are."""
    status, ranks, _why = judged({"report": OK}, {})
    assert (status, ranks) == ("unknown", ["ok", "unknown"])
    assert overall([]) == "unknown"


def test_an_exception_elsewhere_is_a_consequence() -> None:
    """A collective that broke since another rank raised is not the failure: that rank is, with its words."""
    status, ranks, why = judged({"report": lost(at=5)}, {"report": crashed(at=9)})
    assert (status, ranks, why) == ("crash", ["unknown", "crash"], "rank 1: ValueError: boom")
    assert settle(answers({"report": lost(5)}, {"report": crashed(9)}))[0].detail == "stopped after rank 1 failed"


def test_a_death_elsewhere_is_a_consequence() -> None:
    """The rank that was killed is the cause, not the one that lost it."""
    death = {"at": 50, "signal": 11, "code": -1}
    status, ranks, why = judged({"report": lost(at=60)}, {"death": death, "death_words": "killed by signal 11"})
    assert (status, ranks, why) == ("crash", ["unknown", "crash"], "rank 1: killed by signal 11")


def test_the_earliest_failure_leads() -> None:
    """Of several ranks that failed by themselves, the reason quotes the one that failed first."""
    status, ranks, why = judged({"report": crashed(at=9, words="second")}, {"report": crashed(at=5, words="first")})
    assert (status, ranks) == ("crash", ["crash", "crash"])
    assert why == "all ranks: first"


def test_all_ranks_losing_each_other_is_a_crash() -> None:
    """When every rank only reports a lost peer, the failure is still shown as one."""
    assert judged({"report": lost(at=5)}, {"report": lost(at=6)})[:2] == ("crash", ["crash", "crash"])


def test_a_hang_shows_where_every_rank_stands() -> None:
    """Ranks that never answered are a hang; the reason is a table of where each one stands."""
    status, ranks, why = judged(
        {"late": True, "where": "all_reduce, kernel.py:31"}, {"late": True, "where": "returned"}, {"report": OK}
    )
    assert (status, ranks) == ("hang", ["hang", "hang", "ok"])
    assert why == "rank 0: all_reduce, kernel.py:31; rank 1: returned; rank 2: returned"


def test_a_hang_without_stacks_is_still_a_hang() -> None:
    """Where no stack could be taken, the rank is said to have given no answer."""
    assert judged({"late": True}, {"report": OK})[2] == "rank 0: no answer; rank 1: returned"


def test_waiting_for_a_dead_rank_is_no_hang() -> None:
    """Ranks that wait for one that died are stopped, not hung."""
    status, ranks, why = judged(
        {"late": True, "where": "all_reduce, kernel.py:31"}, {"death": {"at": 1}, "death_words": "exited with code 0"}
    )
    assert (status, ranks, why) == ("crash", ["unknown", "crash"], "rank 1: exited with code 0")


def test_a_rank_that_dies_after_its_result_has_crashed() -> None:
    """A right result does not save a rank that is gone before the phase ends."""
    assert judged({"report": OK}, {"report": OK, "death": {"at": 1}, "death_words": "exited with code 3"})[:2] == (
        "crash",
        ["ok", "crash"],
    )


def test_a_breach_of_the_contract_is_its_own_status() -> None:
    """A wrong dtype is told as such, before any rank's wrong values."""
    status, ranks, why = judged({"report": WRONG}, {"report": CONTRACT})
    assert (status, ranks) == ("contract", ["wrong", "contract"])
    assert why == "rank 1: out has dtype float32, the reference bfloat16"


@pytest.mark.parametrize(("worse", "better"), list(itertools.pairwise(SEVERITY)))
def test_the_worse_status_decides(worse: Status, better: Status) -> None:
    """A failure that came earlier in an attempt outranks one that its ranks could only reach later."""
    for statuses in ((worse, better), (better, worse), (better, worse, better)):
        assert overall(summaries(statuses)) == worse


def test_severity_covers_every_outcome_of_a_rank() -> None:
    """Only the user's own doing, superseding and cancelling, has no place among the outcomes."""
    assert {*SEVERITY, "superseded", "cancelled"} == set(get_args(Status))


def summaries(statuses: Sequence[Status]) -> list[RankSummary]:
    return [RankSummary(rank=rank, status=status) for rank, status in enumerate(statuses)]


@example(statuses=["ok", "superseded"])
@given(statuses=st.lists(st.sampled_from(get_args(Status)), max_size=8))
def test_ok_needs_every_rank_to_be_ok(statuses: list[Status]) -> None:
    """Whatever the ranks came to, the whole is ok only when each of them is, and there is at least one."""
    assert (overall(summaries(statuses)) == "ok") == (bool(statuses) and set(statuses) == {"ok"})


reports = st.sampled_from([None, OK, WRONG, CONTRACT, crashed(3), crashed(7), lost(5)])
deaths = st.sampled_from([None, None, {"at": 2}, {"at": 9}])
fields = st.fixed_dictionaries(
    {"report": reports, "death": deaths, "late": st.booleans(), "where": st.sampled_from(["", "kernel.py:3"])}
)


@given(found=st.lists(fields, min_size=1, max_size=8))
def test_ok_needs_a_passing_report_and_no_death(found: list[dict[str, Any]]) -> None:
    """No combination of answers, deaths and missing ranks is ok unless every rank has a passing report and lives."""
    status, ranks, why = judged(*found)
    fine = all(one["report"] is OK and one["death"] is None for one in found)
    assert (status == "ok") == fine
    assert len(ranks) == len(found)
    assert bool(why) != fine


@given(found=st.lists(fields, min_size=1, max_size=8))
def test_causes_are_failures_of_their_own(found: list[dict[str, Any]]) -> None:
    """The rank named as the cause died or failed by itself, and no other such rank did so earlier."""
    given_answers = answers(*found)
    cause = first_cause(given_answers)
    own = [
        (one.death or one.report or {}).get("at", 0)
        for one in given_answers
        if one.death or one.report in (CONTRACT, crashed(3), crashed(7))
    ]
    assert (cause is None) == (not own)
    if cause is not None:
        assert (cause.death or cause.report or {}).get("at", 0) == min(own)
