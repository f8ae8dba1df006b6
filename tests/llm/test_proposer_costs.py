"""What a reply costs: tokens counted or estimated, prices, and what the budget leaves."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from tests.llm import server as fake
from tests.llm.asking import GOOD, Talk
from tests.llm.server import Reply, fenced, serving
from workbench.events import ProposalDelta, ProposalFinished
from workbench.llm import client


@pytest.mark.parametrize("tokens", [(-(10**6), -5), (10**40, 10**40)], ids=["negative", "too many"])
def test_tokens_that_cannot_be(talk: Talk, tokens: tuple[int, int]) -> None:
    """A count of tokens that cannot be is not believed; an estimate takes its place, so that the budget holds."""
    with serving(Reply(fenced(GOOD), tokens=tokens)) as server:
        finished = talk.ask(server.url, input_price=1.0, output_price=1.0)
    assert 0 < finished.tokens_in < 1000 > finished.tokens_out > 0
    assert finished.cost_usd == pytest.approx((finished.tokens_in + finished.tokens_out) / 1e6)


def test_thinking_is_paid_for(talk: Talk) -> None:
    """Where the server counts no tokens, those of the thinking are in the estimate."""
    thinking = Reply(fenced(GOOD), thinking="I wonder about ring and tree. " * 50, tokens=(0, 0))
    with serving(thinking, Reply(fenced(GOOD), tokens=(0, 0))) as server:
        long, short = talk.ask(server.url), talk.ask(server.url)
    assert long.tokens_out > short.tokens_out + 200


def test_cost_of_a_request_that_was_dropped(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that is dropped is told as cancelled at once, and again with its cost when that is known."""
    monkeypatch.setattr(client, "_STOP_S", 50.0)  # on a busy machine counting takes its time
    with serving(Reply(fenced(GOOD), wait_after=2, tokens=(0, 0))) as server:

        async def dropped() -> None:
            asked = asyncio.ensure_future(talk.asking(server.url, input_price=1.0, output_price=1.0))
            while not talk.of(ProposalDelta):
                await asyncio.sleep(0.005)
            asked.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asked
            assert [one.cost_usd for one in talk.of(ProposalFinished)] == [0.0]
            while len(talk.of(ProposalFinished)) < 2:
                await asyncio.sleep(0.005)

        talk.run(dropped())
    at_once, later = talk.of(ProposalFinished)
    assert at_once.proposal == later.proposal
    assert (at_once.outcome, later.outcome) == ("cancelled", "cancelled")
    assert later.cost_usd > 0


def test_cost_by_own_prices(talk: Talk) -> None:
    """With prices in the settings the cost of a reply is theirs, whatever litellm knows."""
    with serving(Reply(fenced(GOOD), tokens=(2000, 100))) as server:
        finished = talk.ask(server.url, input_price=2.0, output_price=10.0)
    assert finished.cost_usd == pytest.approx(0.005)


def test_cost_by_the_list(talk: Talk) -> None:
    """A model that litellm knows costs what its list says."""
    with serving(Reply(fenced(GOOD), tokens=(1000, 500))) as server:
        finished = talk.ask(server.url, model="openai/gpt-4o")
    assert finished.cost_usd == pytest.approx(0.0075)


def test_budget_shortens_the_reply(talk: Talk) -> None:
    """A reply may not get longer than what is left of the budget pays for."""
    with serving(fenced(GOOD)) as server:
        talk.ask(server.url, left=0.01, input_price=0.0, output_price=10.0)
    assert server.requests[0]["max_tokens"] == pytest.approx(1000, abs=1)


def test_budget_that_pays_for_nothing(talk: Talk) -> None:
    """When what is left pays for no reply, nothing is sent."""
    with serving(fenced(GOOD)) as server:
        finished = talk.ask(server.url, left=0.001, input_price=0.0, output_price=10.0)
    assert (finished.trouble, server.requests) == ("budget", [])
    assert "of the budget are left" in finished.reason


def test_server_that_counts_no_tokens(talk: Talk) -> None:
    """A server that refuses to be asked for usage is asked without; tokens are estimated then."""
    with serving(fake.error(400, "Unrecognized request argument: stream_options"), fenced(GOOD)) as server:
        finished = talk.ask(server.url)
    assert finished.outcome == "code"
    assert "stream_options" not in server.requests[1]
    assert 0 < finished.tokens_in < 1000 > finished.tokens_out > 0
