"""Runs of language models in the session store."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from sessions import schema
from sessions.model import Proposed
from sessions.rows import EDITED
from sessions.solves import Solves
from sessions.store import Store
from tests.sessions.conftest import Stores
from tests.sessions.samples import source, target, verdict
from workbench.errors import UsageError
from workbench.events import ProposalFinished, Status

SENT = [{"role": "user", "content": "Größe 1"}]


@pytest.fixture
def store(tmp_path: Path, stores: Stores) -> Store:
    """An open store in a file."""
    return stores(tmp_path / "sessions.sqlite3")


@pytest.fixture
def solves(store: Store) -> Solves:
    """The runs in it."""
    return Solves(store)


def reply(**more: Any) -> ProposalFinished:
    """A reply of a model."""
    about = {"proposal": 1, "model": "m", "outcome": "code", "reply": "```", "tokens_in": 9, "tokens_out": 5}
    return ProposalFinished(**{**about, "cost_usd": 0.25, "seconds": 2.0, "time": 102.0, **more})


def judged(store: Store, solves: Solves, run: str, step: int, status: Status, sample: int = 1) -> int:
    """A proposal and its attempt; the proposal's id."""
    proposal = solves.propose(run, sample, step, "digest", SENT, reply())
    store.record(target(), source(f"x = {proposal}"), verdict(1, status), 1.0, proposed=Proposed("m", proposal))
    return proposal


def test_proposal_comes_back(solves: Solves) -> None:
    """What was sent, what came, and what the model is told of it come back letter by letter."""
    run = solves.begin(target(), "m", "full", {"steps": 3})
    proposal = solves.propose(run.name, 1, 2, "digest", SENT, reply())
    (kept,) = solves.proposals(run.name)
    assert (kept.id, kept.sample, kept.step, kept.outcome, kept.prompt) == (proposal, 1, 2, "code", "digest")
    assert (list(kept.sent), kept.reply, kept.answer) == (SENT, "```", None)
    assert (kept.tokens_in, kept.tokens_out, kept.cost, kept.started) == (9, 5, 0.25, 100.0)
    solves.answer(proposal, "wrong")
    assert solves.proposal(proposal).answer == "wrong"


def test_run_comes_back(solves: Solves) -> None:
    """A run comes back with what it was run on and its settings; its state can be changed."""
    run = solves.begin(target(), "m", "full", {"steps": 3})
    assert (run.problem, run.backend, run.model, run.feedback) == ("1_allreduce", "pytorch", "m", "full")
    assert (run.world, run.size, run.dtype, run.device, run.state) == (2, "smoke", "bfloat16", "cpu", "running")
    assert run.options == {"steps": 3}
    solves.mark(run.name, "stopped", "no network")
    assert [(one.name, one.state, one.reason) for one in solves.solves()] == [(run.name, "stopped", "no network")]


def test_attempt_knows_its_proposal(store: Store, solves: Solves) -> None:
    """An attempt says which model proposed it, and leads to the proposal and back."""
    run = solves.begin(target(), "m", "full", {}).name
    proposal = judged(store, solves, run, 1, "ok")
    (attempt,) = store.attempts()
    assert (attempt.model, attempt.proposal) == ("m", proposal)
    assert solves.attempt_of(proposal) == attempt.id
    assert solves.attempts(run) == {proposal: attempt}
    own = store.attempt(store.record(target(), source(), verdict(), 1.0))
    assert (own.model, own.proposal) == ("", None)


def test_outcomes_for_scores(store: Store, solves: Solves) -> None:
    """Scores see judged proposals and replies without code; not what failed by itself, nor an unfinished sample."""
    run = solves.begin(target(), "m", "full", {}).name
    judged(store, solves, run, 1, "wrong")
    judged(store, solves, run, 2, "ok")
    judged(store, solves, run, 3, "infra")
    solves.propose(run, 1, 4, "digest", SENT, reply(outcome="no-code"))
    solves.propose(run, 1, 5, "digest", SENT, reply(outcome="cancelled"))
    solves.propose(run, 1, 5, "digest", SENT, reply(outcome="error"))
    solves.propose(run, 1, 5, "digest", SENT, reply())
    judged(store, solves, run, 1, "ok", sample=2)
    seen = [(one.sample, one.step, one.status, one.speedup) for one in solves.outcomes()]
    assert seen == [(1, 1, "wrong", 1.5), (1, 2, "ok", 1.5), (1, 4, "no-code", None)]
    solves.mark(run, "finished")
    assert len(solves.outcomes()) == 4


def test_wish_of_a_run_goes_with_its_outcomes(store: Store, solves: Solves) -> None:
    """Scores know which way to move data a run asked for; a run of an earlier version asked for none."""
    for options in ({"llm": {"require": "custom"}}, {"llm": {}}, {}):
        run = solves.begin(target(), "m", "full", options).name
        judged(store, solves, run, 1, "ok")
        solves.mark(run, "finished")
    assert [one.required for one in solves.outcomes()] == ["custom", "", ""]


def test_edited_proposal_is_kept_as_such(store: Store, solves: Solves) -> None:
    """An attempt at a proposal that the user changed names the model, and says nothing about the model's own file."""
    run = solves.begin(target(), "m", "full", {}).name
    proposal = judged(store, solves, run, 1, "wrong")
    mine = {"note": EDITED, "proposed": Proposed("m", proposal)}
    edited = store.attempt(store.record(target(), source("mine"), verdict(2, "ok"), 2.0, **mine))
    solves.mark(run, "finished")

    assert (edited.model, edited.proposal, edited.note) == ("m", proposal, "edited")
    assert [one.status for one in solves.outcomes()] == ["wrong"]
    assert solves.attempts(run)[proposal].status == "wrong"
    assert solves.attempt_of(proposal) != edited.id


def test_attempt_that_says_nothing_hides_no_verdict(store: Store, solves: Solves) -> None:
    """A later attempt at the same proposal that was cancelled leaves its verdict in place."""
    run = solves.begin(target(), "m", "full", {}).name
    proposal = judged(store, solves, run, 1, "ok")
    again = Proposed("m", proposal)
    store.record(target(), source(f"x = {proposal}"), verdict(2, "cancelled"), 2.0, proposed=again)

    assert solves.attempts(run)[proposal].status == "ok"


def test_pruning_takes_the_oldest_proposals(tmp_path: Path, stores: Stores) -> None:
    """Old proposals go with old attempts, and runs without any proposal left."""
    store = stores(tmp_path / "sessions.sqlite3", keep=2)
    solves = Solves(store)
    old, new = (solves.begin(target(), "m", "full", {}).name for _ in range(2))
    judged(store, solves, old, 1, "wrong")
    for step in (1, 2, 3):
        judged(store, solves, new, step, "wrong")
    assert [one.step for one in solves.proposals(new)] == [2, 3]
    assert [one.name for one in solves.solves()] == [new]


def test_unknown_names(solves: Solves) -> None:
    """A run or proposal that is not kept is told, with the command that lists runs."""
    with pytest.raises(UsageError, match="pkwb solve --list"):
        solves.solve("nothing")
    with pytest.raises(UsageError, match="not kept any more"):
        solves.proposal(7)


def test_store_of_an_earlier_version(tmp_path: Path, stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that was written before models were known keeps its attempts, and takes proposals from then on."""
    path = tmp_path / "old.sqlite3"
    whole = schema.MIGRATIONS
    monkeypatch.setattr(schema, "MIGRATIONS", whole[:2])
    connection = schema.connect_file(path)
    connection.execute("INSERT INTO sources (digest, packed) VALUES ('d', x'00')")
    columns = "sitting, number, problem, backend, path, digest, started, ended, status, reason, world, size, dtype"
    values = "'s', 1, '1_allreduce', 'pytorch', '/f.py', 'd', 1.0, 2.0, 'ok', '', 2, 'smoke', 'bfloat16'"
    connection.execute(f"INSERT INTO attempts ({columns}, device, note, verdict) VALUES ({values}, 'cpu', '', x'00')")
    connection.close()
    monkeypatch.setattr(schema, "MIGRATIONS", whole)
    store = stores(path)
    assert store.problem_with == ""
    (attempt,) = store.attempts()
    assert (attempt.number, attempt.model, attempt.proposal) == (1, "", None)
    run = Solves(store).begin(target(), "m", "full", {}).name
    assert judged(store, Solves(store), run, 1, "ok") == 1
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (len(whole),)
    raw.close()
