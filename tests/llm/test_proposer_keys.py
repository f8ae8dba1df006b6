"""API keys: where they are read, and that nothing repeats them."""

from __future__ import annotations

import dataclasses
import os

import pytest

from tests.llm import server as fake
from tests.llm.asking import GOOD, Talk
from tests.llm.server import KEY, Reply, fenced, serving
from workbench.config import LlmSettings
from workbench.errors import SettingsError
from workbench.events import ProposalDelta, ProposalWaiting

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
