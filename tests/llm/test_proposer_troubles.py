"""Trouble with a provider: each kind is told apart, with a way on."""

from __future__ import annotations

import pytest

from tests.llm import server as fake
from tests.llm.asking import GOOD, Talk
from tests.llm.server import KEY, Reply, fenced, serving
from workbench.events import ProposalWaiting

TROUBLES = {
    "wrong key": (fake.WRONG_KEY, "key", "refused or is missing; it is read from OPENAI_API_KEY: set it"),
    "context overflow": (fake.OVERFLOW, "context", "longer than openai/fake takes"),
    "unknown model": (fake.NO_MODEL, "model", "write llm.model as provider/model"),
    "server error": (fake.BROKEN, "server", "the provider failed"),
    "rate limit": (fake.RATE_LIMITED, "rate", "rate limit or quota"),
}


@pytest.mark.parametrize("name", TROUBLES)
def test_trouble_is_named_with_a_way_on(name: str, talk: Talk) -> None:
    """Each trouble with a provider has its own kind, and words that say what to do; no key is in them."""
    reply, trouble, words = TROUBLES[name]
    with serving(reply) as server:
        finished = talk.ask(server.url, retries=1 if name == "rate limit" else 0)
    assert (finished.outcome, finished.trouble) == ("error", trouble)
    assert words in finished.reason
    assert KEY not in finished.reason


def test_rate_limit_passes(talk: Talk) -> None:
    """After a rate limit the request is sent again, the wait is told, and the reply comes."""
    with serving(fake.RATE_LIMITED, fenced(GOOD)) as server:
        finished = talk.ask(server.url)
    assert finished.outcome == "code"
    assert len(server.requests) == 2
    assert [waiting.seconds for waiting in talk.of(ProposalWaiting)] == [0.0]
    assert "rate limit" in talk.of(ProposalWaiting)[0].reason


def test_no_network(talk: Talk) -> None:
    """An address where nobody answers is told as trouble with the network, and names the setting to look at."""
    with serving("") as server:
        nobody = server.url
    finished = talk.ask(nobody, retries=0)
    assert (finished.outcome, finished.trouble) == ("error", "network")
    assert "llm.api_base" in finished.reason


def test_no_token_for_too_long(talk: Talk) -> None:
    """A server that stops talking is given up after llm.timeout, in words that name it."""
    with serving(Reply("hello", wait_after=0)) as server:
        finished = talk.ask(server.url, timeout=0.3, retries=0)
    assert (finished.outcome, finished.trouble) == ("error", "timeout")
    assert "raise llm.timeout" in finished.reason


def test_pieces_without_text_are_no_life(talk: Talk) -> None:
    """A server that keeps the line open with empty pieces is given up like one that is silent."""
    with serving(Reply("hello", empty=400, pause=0.02)) as server:
        finished = talk.ask(server.url, timeout=0.4, retries=0)
        assert server.gone.wait(20)
    assert (finished.outcome, finished.trouble) == ("error", "timeout")
