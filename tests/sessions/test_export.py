"""Attempts written into folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sessions.export import attempt_document, export_attempt, export_sitting
from sessions.model import Proposed
from sessions.solves import Solves
from sessions.store import Store
from tests.sessions.conftest import Stores
from tests.sessions.samples import source, target, verdict
from tests.sessions.test_solves import SENT, reply
from workbench.errors import UsageError


@pytest.fixture
def store(stores: Stores) -> Store:
    """Two attempts of one sitting."""
    store = stores()
    store.record(target(), source("first"), verdict(1, "wrong"), 1.0)
    store.record(target(), source("second"), verdict(2), 2.0)
    return store


def test_attempt_as_folder(store: Store, tmp_path: Path) -> None:
    """An exported attempt has its source under its own name, and the verdict with samples and environment."""
    folder = export_attempt(store, 1, tmp_path / "out")
    assert (folder / "solution.py").read_text() == "first"
    kept = json.loads((folder / "verdict.json").read_text())
    assert (kept["status"], kept["environment"]) == ("wrong", {"torch": "2"})
    assert kept["candidate_samples_ms"] == [[2.0, 2.5], [1.5, 2.0]]
    assert json.loads((folder / "attempt.json").read_text())["number"] == 1


def test_attempt_as_document(store: Store) -> None:
    """An attempt is one JSON object with attempt, source and verdict."""
    document = json.loads(json.dumps(attempt_document(store, 2)))
    assert document["source"] == "second"
    assert document["attempt"]["speedup"]["median"] == document["verdict"]["speedup"]["median"] == 1.5


def test_sitting_as_folder(store: Store, tmp_path: Path) -> None:
    """An exported sitting has one folder an attempt and a list of them."""
    folder = export_sitting(store, store.sitting, tmp_path / "out")
    assert {path.name for path in folder.iterdir()} == {"attempts.json", "0001-wrong", "0002-ok"}
    assert (folder / "0002-ok" / "solution.py").read_text() == "second"


def test_nothing_is_overwritten(store: Store, tmp_path: Path) -> None:
    """A folder with content is refused and stays as it is."""
    (tmp_path / "precious.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty"):
        export_attempt(store, 1, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["precious.txt"]


def test_unknown_sitting(store: Store, tmp_path: Path) -> None:
    """An unknown sitting says how to find those that are kept."""
    with pytest.raises(UsageError, match="--sittings"):
        export_sitting(store, "20200101-000000-abcd", tmp_path / "out")


def test_folder_that_cannot_be_made(store: Store, tmp_path: Path) -> None:
    """A folder that cannot be made is a clear error."""
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="another folder"):
        export_attempt(store, 1, tmp_path / "file" / "out")


def test_proposal_of_a_model_goes_along(store: Store, tmp_path: Path) -> None:
    """An attempt that a model proposed is exported with what the model was sent and replied."""
    solves = Solves(store)
    run = solves.begin(target(), "m", "full", {}).name
    proposal = solves.propose(run, 1, 1, "digest", SENT, reply())
    attempt = store.record(target(), source("third"), verdict(3), 3.0, proposed=Proposed("m", proposal))
    folder = export_attempt(store, attempt, tmp_path / "out")
    assert json.loads((folder / "proposal.json").read_text())["sent"] == SENT
    assert attempt_document(store, 2)["proposal"] is None
