"""Asking a model: the real litellm in the real proposer process, against a server that misbehaves on purpose."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.llm import server as fake
from tests.llm.server import KEY, Reply, fenced, serving
from workbench.config import LlmSettings
from workbench.errors import ProposerError, SettingsError
from workbench.events import Event, EventStream, ProposalDelta, ProposalFinished, ProposalWaiting, ProposerChanged
from workbench.llm import client
from workbench.llm.client import Messages, ModelClient

GOOD = "def solution(tensor):\n    return tensor\n"
MESSAGES: Messages = [{"role": "user", "content": "Write it."}]


class Talk:
    """One client in a loop of its own, shared by the tests of a module: loading litellm takes seconds."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.events: list[Event] = []
        stream = EventStream()
        stream.subscribe(self.events.append)
        self.client = ModelClient(LlmSettings(model="openai/fake"), stream)

    def ask(self, url: str, messages: Messages = MESSAGES, left: float | None = None, **more: Any) -> ProposalFinished:
        """One reply from the server at ``url``."""
        return self.run(self.asking(url, messages, left, **more))

    def asking(self, url: str, messages: Messages = MESSAGES, left: float | None = None, **more: Any) -> Any:
        """The same, to be awaited."""
        self.events.clear()
        self.client.settings = LlmSettings(**{"model": "openai/fake", "api_base": url, "timeout": 20.0, **more})
        return self.client.ask(messages, left)

    def run(self, step: Any) -> Any:
        """Run one step to its end."""
        return self.loop.run_until_complete(asyncio.wait_for(step, 60))

    def of(self, kind: type[Event]) -> list[Any]:
        """What was told of one kind."""
        return [event for event in self.events if isinstance(event, kind)]


@pytest.fixture(scope="module")
def talk() -> Iterator[Talk]:
    """A client whose key is a canary."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        found = Talk()
        yield found
        found.run(found.client.close())
        found.loop.close()


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


@pytest.fixture
def own() -> Iterator[Talk]:
    """A client of this test alone, whose process has the environment of its first request."""
    found = Talk()
    yield found
    found.run(found.client.close())
    found.loop.close()


KEYLESS = {
    "openai/gpt-4o": "OPENAI_API_KEY",
    "anthropic/claude-3-5-haiku-20241022": "ANTHROPIC_API_KEY",
    "gemini/gemini-2.5-pro": "GEMINI_API_KEY",
}


@pytest.mark.parametrize("model", KEYLESS)
def test_missing_key_is_told_at_once(model: str, own: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key nothing is tried again: the variable to set is named."""
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_AUTH_TOKEN"))]:
        monkeypatch.delenv(name)
    finished = own.ask("", model=model)
    assert (finished.outcome, finished.trouble, own.of(ProposalWaiting)) == ("error", "key", [])
    words = finished.reason.partition("start pkwb again")[0]
    assert KEYLESS[model] in words


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


def test_pieces_without_text_are_no_life(talk: Talk) -> None:
    """A server that keeps the line open with empty pieces is given up like one that is silent."""
    with serving(Reply("hello", empty=400, pause=0.02)) as server:
        finished = talk.ask(server.url, timeout=0.4, retries=0)
        assert server.gone.wait(20)
    assert (finished.outcome, finished.trouble) == ("error", "timeout")


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


@pytest.mark.parametrize("reply", [fake.error(400, "bad hunter2-hunter2"), Reply("Your key is hunter2-hunter2.")])
def test_key_of_any_name_is_taken_out(own: Talk, monkeypatch: pytest.MonkeyPatch, reply: Reply) -> None:
    """A server that repeats the key, in an error or in a reply, does not get it into what is kept, whatever its
    variable is called."""
    monkeypatch.setenv("MY_LOGIN", "hunter2-hunter2")
    with serving(reply) as server:
        finished = own.ask(server.url, key_env="MY_LOGIN")
    assert server.keys == ["Bearer hunter2-hunter2"]
    assert "hunter2" not in finished.reply + finished.reason
    assert "<MY_LOGIN>" in finished.reply + finished.reason


def test_key_in_a_reply_is_not_shown_while_it_comes(talk: Talk) -> None:
    """The key is taken out of pieces of a reply, too, also where it comes apart; the rest comes as it is."""
    text = f"Your key is {KEY}, sk-lo and sk"
    with serving(Reply(text, piece=3, pause=0.04)) as server:
        finished = talk.ask(server.url)
    told = "".join(piece.text for piece in talk.of(ProposalDelta))
    assert told == finished.reply == text.replace(KEY, "<OPENAI_API_KEY>")


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


def test_cost_of_a_request_that_was_dropped(talk: Talk) -> None:
    """A request that is dropped is told as cancelled at once, and again with its cost when that is known."""
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


def test_local_model_by_its_bare_name(talk: Talk) -> None:
    """At an address of the user's own a model needs no provider before its name."""
    with serving(fenced(GOOD)) as server:
        finished = talk.ask(server.url, model="qwen3-coder")
    assert finished.outcome == "code"
    assert server.requests[0]["model"] == "qwen3-coder"


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


def test_no_model_named(talk: Talk) -> None:
    """Without a model nothing is started, and the message names flag and setting."""
    nameless = dataclasses.replace(talk.client, settings=LlmSettings())
    with pytest.raises(SettingsError, match=r"--model PROVIDER/MODEL, or set llm\.model"):
        nameless.warm()


def test_password_in_the_address(talk: Talk) -> None:
    """An address with a password in it is refused, since settings are kept with each run; the message has none."""
    settings = LlmSettings(model="m", api_base="http://me:hunter2@host/v1")
    with pytest.raises(SettingsError, match=r"llm\.key_env") as caught:
        dataclasses.replace(talk.client, settings=settings).warm()
    assert "hunter2" not in str(caught.value)


def test_key_of_an_own_server(own: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable that llm.key_env names holds the key for an address of the user's own."""
    monkeypatch.setenv("MY_SERVER_KEY", "sk-of-my-own-server")
    with serving(fenced(GOOD)) as server:
        assert own.ask(server.url, key_env="MY_SERVER_KEY").outcome == "code"
    assert server.keys == ["Bearer sk-of-my-own-server"]
