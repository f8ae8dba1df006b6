"""Asking a model: what comes of a reply, piece by piece, and what ends it."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from tests.llm.asking import GOOD, Talk
from tests.llm.server import KEY, Reply, fenced, serving
from workbench.config import LlmSettings
from workbench.errors import SettingsError
from workbench.events import Event, EventStream, ProposalDelta, ProposalFinished, ProposerChanged


def test_reply_is_streamed_and_its_code_found(talk: Talk) -> None:
    """Pieces of the reply come as events, their sum is the reply, and its block of code is the proposal."""
    text = fenced(GOOD, before="I use one kernel. " * 20)
    with serving(Reply(text, thinking="Let me see.")) as server:
        finished = talk.ask(server.url)
    assert (finished.outcome, finished.code, finished.reason) == ("code", GOOD, "")
    pieces = talk.of(ProposalDelta)
    assert "".join(piece.text for piece in pieces if not piece.thinking) == finished.reply == text
    assert "".join(piece.text for piece in pieces if piece.thinking) == "Let me see."
    assert server.keys == [f"Bearer {KEY}"]
    assert (finished.tokens_in, finished.tokens_out, finished.cost_usd) == (1000, 500, None)


def test_characters_that_come_in_halves(talk: Talk) -> None:
    """A character that a server splits over two pieces is whole again; half a character becomes a sign for it."""
    half = "\ud83d"
    with serving(Reply(f"{half}\ude00 and {half}.", piece=1)) as server:
        finished = talk.ask(server.url)
    assert finished.reply == "\U0001f600 and \ufffd."


def test_first_piece_is_told_before_the_rest_exists(talk: Talk) -> None:
    """A piece is on the event stream while the server still holds back the next one."""
    with serving(Reply(fenced(GOOD), wait_after=1)) as server:

        async def first_piece() -> str:
            asked = asyncio.ensure_future(talk.asking(server.url))
            while not talk.of(ProposalDelta):
                await asyncio.sleep(0.005)
            seen: str = talk.of(ProposalDelta)[0].text
            assert not asked.done()
            server.go.set()
            await asked
            return seen

        assert talk.run(first_piece()) == fenced(GOOD)[:20]


def test_cancel_ends_the_request(talk: Talk) -> None:
    """A cancelled request is told as cancelled, with what had come, and the server sees the client leave."""
    with serving(Reply(fenced(GOOD), wait_after=2)) as server:

        async def cancelled() -> ProposalFinished:
            asked = asyncio.ensure_future(talk.asking(server.url))
            while len("".join(piece.text for piece in talk.of(ProposalDelta))) < 40:
                await asyncio.sleep(0.005)
            talk.client.cancel()
            found: ProposalFinished = await asked
            return found

        finished = talk.run(cancelled())
        assert server.gone.wait(20)
    assert (finished.outcome, finished.reply) == ("cancelled", fenced(GOOD)[:40])
    assert finished.tokens_out > 0


BROKEN = {
    "connection lost in the code": (
        Reply(fenced(GOOD * 5), cut_after=4),
        "cut-off",
        "The reply broke off: openai/fake",
    ),
    "reply too long": (Reply(fenced(GOOD * 5)[:60], finish="length"), "cut-off", "was cut off"),
    "words only": (Reply("I would rather not."), "no-code", "no block of code"),
    "all tokens thought away": (Reply(thinking="Hm. " * 9, finish="length"), "cut-off", "raise llm.max_tokens"),
    "thinking alone": (Reply(thinking="Hm. " * 9), "no-code", "went into thinking"),
    "a tool": (Reply(called=True, finish="tool_calls"), "no-code", "called a tool"),
    "not JSON": (Reply(raw="data: {not json\n\n"), "error", "try again"),
    "a web page": (Reply(body="<html>hello</html>"), "no-code", "an OpenAI-compatible server"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_replies_without_a_whole_file(name: str, talk: Talk) -> None:
    """Replies that hold no whole file are told apart, and none of them becomes a proposal."""
    reply, outcome, words = BROKEN[name]
    with serving(reply) as server:
        finished = talk.ask(server.url, retries=0)
    assert (finished.outcome, finished.code) == (outcome, "")
    assert words in finished.reason


def test_connection_lost_after_the_code(talk: Talk) -> None:
    """A file that was whole before the connection broke is a proposal all the same."""
    with serving(Reply(fenced(GOOD) + "And now some words about it. " * 9, cut_after=8)) as server:
        finished = talk.ask(server.url)
    assert (finished.outcome, finished.code) == ("code", GOOD)


def test_endless_reply(talk: Talk) -> None:
    """A reply is taken up to a million characters, also where they come in one piece."""
    with serving(Reply("x" * 2_000_000, piece=2_000_000)) as server:
        finished = talk.ask(server.url)
    assert (finished.outcome, len(finished.reply)) == ("cut-off", 1_000_001)


def test_reply_that_is_not_wanted_any_more(talk: Talk) -> None:
    """When enough has come the connection is closed, so that the model does not go on writing at the user's cost."""
    with serving(Reply("".join(f"{number:06} " for number in range(150_000)), piece=100_000, wait_after=11)) as server:
        assert talk.ask(server.url).outcome == "cut-off"
        assert server.gone.wait(20)


def test_another_problem(own: Talk) -> None:
    """A client that moves on keeps its process, tells the new stream in which state it is, and counts from 1 again."""
    with serving(fenced(GOOD)) as server:
        assert [own.ask(server.url).proposal for _ in range(2)] == [1, 2]
        process, events = own.client._process, list[Event]()
        stream = EventStream()
        stream.subscribe(events.append)
        own.client.move(stream)
        assert [event.state for event in events if isinstance(event, ProposerChanged)] == ["ready"]
        assert own.ask(server.url).proposal == 1
        assert own.client._process is process
    assert any(isinstance(event, ProposalFinished) for event in events)
    assert not own.of(ProposalFinished)


def test_local_model_by_its_bare_name(talk: Talk) -> None:
    """At an address of the user's own a model needs no provider before its name."""
    with serving(fenced(GOOD)) as server:
        finished = talk.ask(server.url, model="qwen3-coder")
    assert finished.outcome == "code"
    assert server.requests[0]["model"] == "qwen3-coder"


def test_no_model_named(talk: Talk) -> None:
    """Without a model nothing is started, and the message names flag and setting."""
    nameless = dataclasses.replace(talk.client, settings=LlmSettings())
    with pytest.raises(SettingsError, match=r"--model PROVIDER/MODEL, or set llm\.model"):
        nameless.warm()
