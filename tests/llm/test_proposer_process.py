"""The proposer process when it dies, hangs or cannot load litellm."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import pytest

from tests.llm.asking import GOOD, Talk
from tests.llm.server import Reply, fenced, serving
from workbench.errors import ProposerError
from workbench.events import ProposalDelta, ProposalFinished, ProposerChanged
from workbench.llm import client


def test_process_that_is_stuck_is_ended(own: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that does not answer any more is ended and said so, and the next request has a new one."""
    with serving(fenced(GOOD)) as server:
        assert own.ask(server.url).outcome == "code"
        stuck = own.client._process
        assert stuck is not None
        os.kill(stuck.pid, signal.SIGSTOP)
        monkeypatch.setattr(client, "_LOADING_S", 0.2)
        finished = own.ask(server.url, timeout=0.1)
        assert (finished.outcome, finished.trouble) == ("error", "proposer")
        assert "did not answer any more" in finished.reason
        monkeypatch.undo()
        assert own.ask(server.url).outcome == "code"
        own.run(own.client.close())
        assert stuck.poll() is not None


def test_stuck_process_is_ended_after_a_cancelled_request(own: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that does not end a cancelled request is ended itself, so that the next one is not stuck behind it."""
    monkeypatch.setattr(client, "_STOP_S", 0.1)
    with serving(fenced(GOOD)) as server:
        assert own.ask(server.url).outcome == "code"
        stuck = own.client._process
        assert stuck is not None
        os.kill(stuck.pid, signal.SIGSTOP)

        async def cancelled() -> None:
            asked = asyncio.ensure_future(own.asking(server.url))
            await asyncio.sleep(0)
            asked.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asked
            while own.of(ProposerChanged) == []:
                await asyncio.sleep(0.005)

        own.run(cancelled())
        assert own.ask(server.url).outcome == "code"


def test_process_that_dies_is_started_anew(talk: Talk) -> None:
    """When the proposer dies the request says so, and the next one has a new process."""
    with serving(Reply(fenced(GOOD), wait_after=1), fenced(GOOD)) as server:

        async def killed() -> ProposalFinished:
            asked = asyncio.ensure_future(talk.asking(server.url))
            while not talk.of(ProposalDelta):
                await asyncio.sleep(0.005)
            assert talk.client._process is not None
            os.kill(talk.client._process.pid, signal.SIGKILL)
            found: ProposalFinished = await asked
            return found

        finished = talk.run(killed())
        assert (finished.outcome, finished.trouble) == ("error", "proposer")
        assert "starts it anew" in finished.reason
        assert talk.of(ProposerChanged)[-1].state == "gone"
        assert talk.ask(server.url).outcome == "code"
    assert [event.state for event in talk.of(ProposerChanged)] == ["loading", "ready"]


def test_litellm_that_cannot_be_loaded(own: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where litellm is missing or broken, every request says so and what to do, and nothing waits for ever."""
    (tmp_path / "litellm.py").write_text("raise ValueError('no such thing')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    for _ in range(2):
        finished = own.ask("http://127.0.0.1:9/v1")
        assert (finished.outcome, finished.trouble) == ("error", "proposer")
        assert "litellm cannot be imported: no such thing; install litellm beside pkwb" in finished.reason
    with pytest.raises(ProposerError, match="install litellm"):
        own.run(own.client.facts())
