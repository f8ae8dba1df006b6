"""What the tests of asking and of the agent loop share: clients, and a run with what it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.solves import Solves
from sessions.store import Store
from tests.llm.asking import Talk
from tests.llm.looping import Run
from tests.llm.server import KEY


@pytest.fixture(scope="package")
def shared_talk() -> Iterator[Talk]:
    """One client for the whole folder: loading litellm takes seconds."""
    found = Talk()
    yield found
    found.close()


@pytest.fixture
def talk(shared_talk: Talk, monkeypatch: pytest.MonkeyPatch) -> Talk:
    """The client that tests share, whose key is a canary."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return shared_talk


@pytest.fixture
def own() -> Iterator[Talk]:
    """A client of this test alone, whose process has the environment of its first request."""
    found = Talk()
    yield found
    found.close()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run over a store of its own."""
    return Run(tmp_path / "sessions.sqlite3")


@pytest.fixture
def kept(run: Run) -> Iterator[Solves]:
    """What the run has kept."""
    store = Store.open(run.path)
    yield Solves(store)
    store.close()
