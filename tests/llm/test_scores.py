"""pass@k and fast_p@k, against what they mean."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from sessions.model import Outcome, Proposed
from sessions.solves import Solves
from sessions.store import Store, default_path
from tests.program import pkwb
from tests.sessions.samples import source, target, verdict
from tests.sessions.test_solves import SENT, reply
from workbench.llm.curves import curve_lines
from workbench.llm.scores import pass_at_k, rows, samples_of


def outcome(problem: str, sample: int, step: int, status: str, speedup: float | None = None, **more: Any) -> Outcome:
    """One step of one sample."""
    about = {"run": "r", "backend": "cuda", "model": "m", "feedback": "full", "world": 2, "size": "default"}
    place = {"dtype": "bfloat16", "device": "cuda", "hardware": "2 × H200", "manner": "", "required": ""}
    return Outcome(
        **{"low": speedup, **about, **place, **more}, problem=problem, sample=sample, step=step, status=status,
        speedup=speedup,
    )  # fmt: skip


@pytest.mark.parametrize(("n", "c", "k"), [(5, 2, 1), (5, 2, 3), (5, 0, 2), (5, 5, 2), (4, 3, 2), (3, 1, 3)])
def test_estimator_is_the_mean_over_all_draws(n: int, c: int, k: int) -> None:
    """pass@k is the share of all ways to draw k of n samples in which at least one counts."""
    draws = list(itertools.combinations([True] * c + [False] * (n - c), k))
    assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_sample_counts_by_its_best_proposal() -> None:
    """A sample is right when one of its proposals was, and as fast as its fastest right one."""
    tried = [outcome("a", 1, 1, "no-code"), outcome("a", 1, 2, "ok", 0.8), outcome("a", 1, 3, "ok", 1.4),
             outcome("a", 1, 4, "wrong", 9.0), outcome("b", 1, 1, "suspect", 9.0)]  # fmt: skip
    (row,) = rows(samples_of(tried), (1,), (0.0, 1.0, 1.4, 1.5))
    assert [score.value for score in row.scores] == [0.5, 0.5, 0.0, 0.0]
    (first,) = rows(samples_of(tried, steps=2), (1,), (0.0, 1.0))
    assert [score.value for score in first.scores] == [0.5, 0.0]


def test_sample_that_lost_its_beginning() -> None:
    """A sample whose first proposals are not kept any more says nothing: a right one may be among them."""
    tried = [outcome("a", 1, 3, "wrong"), outcome("a", 2, 1, "ok", 1.2)]
    (row,) = rows(samples_of(tried), (1,), (0.0,))
    assert (row.samples, row.scores[0].value) == (1, 1.0)


def test_sure_speedups_alone() -> None:
    """Where only sure speedups are asked for, the lower end of the interval counts."""
    tried = [outcome("a", 1, 1, "ok", 1.5, low=0.9), outcome("b", 1, 1, "ok", 1.2, low=1.1)]
    (row,) = rows(samples_of(tried, sure=True), (1,), (0.0, 1.0))
    assert [score.value for score in row.scores] == [1.0, 0.5]


def test_mean_over_problems_with_enough_samples() -> None:
    """The mean is over problems, not samples; a problem with fewer than k samples does not count at k."""
    tried = [outcome("a", sample, 1, status, 1.2) for sample, status in enumerate(["ok", "wrong", "wrong"])]
    tried += [outcome("b", 0, 1, "wrong")]
    (row,) = rows(samples_of(tried), (1, 3), (0.0,))
    assert [(score.value, score.problems) for score in row.scores] == [(pytest.approx(1 / 6), 2), (1.0, 1)]
    assert (row.problems, row.samples) == (2, 4)


def test_conditions_are_kept_apart() -> None:
    """Models, backends, feedback levels, ranks and ways of timing are never counted together."""
    other = [
        {"model": "n"},
        {"backend": "triton"},
        {"feedback": "errors"},
        {"hardware": "4 × H200"},
        {"manner": "graph"},
        {"required": "custom"},
    ]
    tried = [outcome("a", 1, 1, "ok", 1.0)]
    tried += [outcome("a", 1, 1, "ok", 1.0, run=str(place), **change) for place, change in enumerate(other)]
    assert len(rows(samples_of(tried), (1,), (0.0,))) == 1 + len(other)


def test_untimed_proposal_belongs_to_its_run() -> None:
    """A wrong proposal was timed in no way at all, and counts with the timed ones of its run."""
    tried = [outcome("a", 1, 1, "wrong"), outcome("a", 2, 1, "ok", 1.5, manner="graph")]
    (row,) = rows(samples_of(tried), (1,), (0.0,))
    assert (row.samples, row.scores[0].value) == (2, 0.5)


def test_right_but_never_timed() -> None:
    """Where nothing was timed there is no fast_p; where some right samples were, the others are not faster."""
    tried = [outcome("a", 1, 1, "ok"), outcome("b", 1, 1, "wrong")]
    (row,) = rows(samples_of(tried), (1,), (0.0, 1.0))
    assert [score.value for score in row.scores] == [0.5, None]
    (row,) = rows(samples_of([*tried, outcome("b", 2, 1, "ok", 1.5)]), (1,), (0.0, 1.0))
    assert [score.value for score in row.scores] == [0.75, 0.25]


def test_exactly_as_fast_is_not_faster() -> None:
    """fast_p counts what is faster than p times the reference; fast_0 is what is right, however slow."""
    (row,) = rows(samples_of([outcome("a", 1, 1, "ok", 1.0)]), (1,), (0.0, 0.9, 1.0))
    assert [score.value for score in row.scores] == [1.0, 1.0, 0.0]


def test_more_samples_than_tries() -> None:
    """With five samples of which two are right, one of three drawn ones is right in nine of ten draws."""
    tried = [outcome("a", sample, 1, "ok" if sample < 2 else "wrong") for sample in range(5)]
    (row,) = rows(samples_of(tried), (1, 3, 5), (0.0,))
    assert [score.value for score in row.scores] == [pytest.approx(0.4), pytest.approx(0.9), 1.0]


def test_curve_falls_with_p() -> None:
    """The curve shows each row's share at each p by its letter, and names the letters."""
    tried = [outcome("a", 1, 1, "ok", 1.1), outcome("b", 1, 1, "ok", 2.1)]
    lines = curve_lines(rows(samples_of(tried), (1,), (0.0,)))
    drawn = {line[:5].strip(): line[7:] for line in lines if "|" in line}
    assert drawn["100%"].rindex("A") == 4 * 4
    assert drawn["50%"].strip("A ") == ""
    assert drawn["50%"].rindex("A") == 8 * 4
    assert lines[-1] == "A m, cuda, full, 2 × H200, default, bfloat16"


@pytest.fixture
def kept() -> None:
    """Two finished samples on problem 1, one of them right."""
    store = Store.open(default_path())
    solves = Solves(store)
    run = solves.begin(target(), "openai/fake", "full", {}).name
    for sample, status in ((1, "wrong"), (2, "ok")):
        proposal = solves.propose(run, sample, 1, "digest", SENT, reply())
        text = source(f"x = {sample}")
        store.record(target(), text, verdict(1, status), 1.0, proposed=Proposed("openai/fake", proposal))
    solves.mark(run, "finished")
    store.close()


PUBLISHED = (
    "GPT-5.5          28 (32.2%)  36 (41.4%)  22 (25.3%)  27 (31.0%)",
    "Gemini 3 Pro     24 (27.6%)  30 (34.5%)  12 (13.8%)  19 (21.8%)",
    "Claude Opus 4.7  20 (23.0%)  31 (35.6%)  12 (13.8%)  20 (23.0%)",
    "GLM-5.1            6 (6.9%)    7 (8.0%)    2 (2.3%)    3 (3.4%)",
    "DeepSeek V4 Pro    2 (2.3%)    3 (3.4%)    0 (0.0%)    1 (1.1%)",
    "35 correct (40.2%), 26 faster (29.9%)",
)
"""The benchmark's own table: correct in the best of 1 and 3, faster in the best of 1 and 3, out of 87."""


@pytest.mark.usefixtures("kept")
def test_table_for_people(tmp_path: Path) -> None:
    """`pkwb scores` prints the table, the parts that were asked for, the curve, and the published figures with date."""
    done = pkwb("scores", "--by", "group", "--k", "1,2", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    line = next(line for line in done.stdout.splitlines() if line.startswith("openai/fake"))
    assert line.split()[-4:] == ["50.0%", "50.0%", "100.0%", "100.0%"]
    assert "collective" in done.stdout
    assert "June 2026" in done.stdout
    assert "H100" in done.stdout
    for line in PUBLISHED:
        assert line in done.stdout


@pytest.mark.usefixtures("kept")
def test_document_for_programs(tmp_path: Path) -> None:
    """`pkwb scores --json` has the same as data."""
    document = json.loads(pkwb("scores", "--json", "--p", "1,2", cwd=tmp_path).stdout)
    (row,) = document["rows"]
    assert row["condition"]["place"] == "2 cpu ranks, smoke, bfloat16"
    found = {(score["k"], score["p"]): score["value"] for score in row["scores"]}
    assert found == {(1, 0.0): 0.5, (1, 1.0): 0.5, (1, 2.0): 0.0, (3, 0.0): None, (3, 1.0): None, (3, 2.0): None}
    assert document["published"]["problems"] == 87


def test_nothing_kept_and_bad_lists(tmp_path: Path) -> None:
    """Without runs the published figures stand alone and the way to a first run is told; bad numbers are refused."""
    empty = pkwb("scores", cwd=tmp_path)
    assert empty.returncode == 0
    assert "pkwb solve PROBLEM --model M" in empty.stderr
    assert "GPT-5.5" in empty.stdout
    for wrong in (("--k", "0"), ("--k", "1.5"), ("--p", "nan"), ("--p", "x")):
        done = pkwb("scores", *wrong, cwd=tmp_path)
        assert (done.returncode, f"{wrong[0]} {wrong[1]}" in done.stderr) == (2, True)
