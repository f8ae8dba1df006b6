"""A conversation that a person leads: what the model is told, what is kept, what it may cost."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sessions.solves import Solves
from sessions.store import Store
from tests.sessions.samples import target
from tests.widgets.model_script import CODE, MODEL, ScriptedModel, finished
from tests.widgets.script import verdict
from workbench.config import LlmSettings, Settings
from workbench.errors import SettingsError, UsageError
from workbench.events import EventStream, Profile, ProposalFinished, Ran
from workbench.llm.feedback import Collected
from workbench.llm.pair import Pair

TARGET = target()
MINE = "def solution(tensor):\n    return mine(tensor)\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store of the test's own."""
    found = Store.open(tmp_path / "sessions.sqlite3")
    yield found
    found.close()


class Desk:
    """A conversation with a scripted model."""

    def __init__(self, store: Store, *replies: ProposalFinished, priced: bool = True, given: str = "", **llm: Any):
        settings = LlmSettings(**{"model": MODEL, **llm})
        stream = EventStream()
        self.model = ScriptedModel(settings, stream, list(replies), priced=priced)
        self.solves = Solves(store)
        self.spent = 0.0
        everything = replace(Settings(), llm=settings, given=frozenset(filter(None, [given])))
        self.pair = Pair(TARGET, everything, stream, self.model, self.solves, lambda: self.spent)

    async def ask(self, text: str = "", words: str = "", remark: str = "") -> str:
        """Ask; what the model was told last."""
        came = await self.pair.propose(text, words, remark)
        self.spent += came.cost_usd or 0.0
        return self.model.asked[-1][-1]["content"]


def test_each_exchange_is_kept(store: Store) -> None:
    """Request, reply, hash of the prompt, tokens and cost are in the store, and what became of the proposal."""

    async def steps() -> None:
        desk = Desk(store, finished())
        await desk.ask()
        await desk.pair.tried(1, CODE, verdict(1, "wrong", "rank 1 is off", (), None), Collected())
        await desk.pair.close()
        (solve,) = desk.solves.solves()
        (kept,) = desk.solves.proposals(solve.name)
        assert (solve.model, solve.state) == (MODEL, "stopped")
        assert (kept.tokens_in, kept.tokens_out, kept.cost, len(kept.prompt)) == (1000, 500, 0.0125, 64)
        assert "rank 1 is off" in (kept.answer or "")

    asyncio.run(steps())


def test_breach_is_by_what_ran(store: Store) -> None:
    """In a conversation, too, a way to move data that was asked for is held against what ran."""

    async def steps() -> None:
        desk = Desk(store, finished(), require="custom")
        await desk.ask()
        ran = Profile(ran=(Ran(name="send", kind="collective", calls=1, ms=0.1),))
        await desk.pair.tried(1, CODE, replace(verdict(1, "wrong", "", (), None), profile=ran), Collected())
        told = await desk.ask(MINE)
        assert "custom was asked for, this looks library; messages ran that the source does not show" in told

    asyncio.run(steps())


def test_what_is_told_next(store: Store) -> None:
    """Verdicts, decisions, remarks and the changed file come with the next request, each once."""

    async def steps() -> None:
        desk = Desk(store, finished())
        await desk.ask()
        await desk.pair.tried(1, CODE, verdict(1, "wrong", "rank 1 is off", (), None), Collected())
        desk.pair.decided(1, "rejected")
        told = await desk.ask(MINE, "it is slow", "use a ring")
        for words in (
            "rank 1 is off",
            "The user rejected your proposal 1",
            "return mine(tensor)",
            "it is slow",
            "use a ring",
        ):
            assert told.count(words) == 1
        told = await desk.ask(MINE, "it is slow")
        assert "return mine(tensor)" not in told
        assert "use a ring" not in told

    asyncio.run(steps())


def test_accepted_proposal_is_not_sent_back(store: Store) -> None:
    """A file that is the model's own proposal, accepted as it was, is not sent to it again."""

    async def steps() -> None:
        desk = Desk(store, finished())
        await desk.ask()
        desk.pair.decided(1, "accepted", CODE)
        told = await desk.ask(CODE)
        assert "accepted your proposal 1" in told
        assert "# proposed" not in told

    asyncio.run(steps())


def test_verdict_of_the_accepted_file(store: Store) -> None:
    """What became of an accepted proposal that was saved is told, once; one that was tried before is not told again."""

    async def steps() -> None:
        desk = Desk(store, finished())
        await desk.ask()
        desk.pair.decided(1, "accepted", CODE)
        assert "it hangs" in await desk.ask(CODE, "it hangs")
        assert "it hangs" not in await desk.ask(CODE, "it hangs")
        assert "# proposed" not in desk.model.asked[-1][-1]["content"]

        tried = Desk(store, finished())
        await tried.ask()
        await tried.pair.tried(1, CODE, verdict(1, "wrong", "rank 1 is off", (), None), Collected())
        tried.pair.decided(1, "accepted", CODE)
        told = await tried.ask(CODE, "of the save: rank 1 is off")
        assert told.count("rank 1 is off") == 1

    asyncio.run(steps())


def test_edited_proposal_is_told(store: Store) -> None:
    """A verdict on what the user made of a proposal is told with that text, and is not the proposal's own."""

    async def steps() -> None:
        desk = Desk(store, finished())
        await desk.ask()
        await desk.pair.tried(1, MINE, verdict(1, "wrong", "rank 1 is off", (), None), Collected(), edited=True)
        told = await desk.ask()
        assert "changed your proposal 1" in told
        assert "return mine(tensor)" in told
        assert "rank 1 is off" in told
        (solve,) = desk.solves.solves()
        assert desk.solves.proposals(solve.name)[0].answer is None

    asyncio.run(steps())


def test_remark_survives_a_failed_request(store: Store) -> None:
    """A remark that did not reach the model comes with the next request; one that was cancelled does not."""

    async def steps() -> None:
        failed = finished(code="", outcome="error", trouble="network", reason="no network", reply="")
        cancelled = finished(code="", outcome="cancelled", reply="")
        desk = Desk(store, failed, cancelled, finished())
        await desk.ask(remark="use a ring")
        assert "use a ring" in await desk.ask(remark="use a tree")
        told = await desk.ask()
        assert "use a ring" in told
        assert "use a tree" not in told
        assert "use a ring" not in await desk.ask()

    asyncio.run(steps())


def test_too_long_a_conversation_is_shortened(store: Store) -> None:
    """Where the conversation has become too long its middle is left out and it is sent again."""

    async def steps() -> None:
        full = finished(code="", outcome="error", trouble="context", reason="too long", reply="")
        desk = Desk(store, finished(), finished(), finished(), full, finished())
        for _ in range(4):
            await desk.ask()
        assert len(desk.model.asked[4]) < len(desk.model.asked[3])

    asyncio.run(steps())


def test_budget(store: Store) -> None:
    """What is left of the budget goes with each request; when it is spent none is made."""

    async def steps() -> None:
        desk = Desk(store, finished(cost_usd=0.75), budget_usd=1.5)
        await desk.ask()
        await desk.ask()
        with pytest.raises(UsageError, match=r"\$1.50 of \$1.50 are spent: raise llm.budget_usd"):
            await desk.ask()
        assert len(desk.model.asked) == 2

    asyncio.run(steps())


def test_budget_where_a_reply_cannot_be_counted(store: Store) -> None:
    """When the cost of a reply could not be counted no further one is asked for, as the budget cannot be held."""

    async def steps() -> None:
        desk = Desk(store, finished(cost_usd=None), budget_usd=1.5)
        await desk.ask()
        with pytest.raises(UsageError, match=r"set llm.budget_usd to 0"):
            await desk.ask()
        free = Desk(store, finished(cost_usd=None), budget_usd=0.0)
        await free.ask()
        assert await free.ask()

    asyncio.run(steps())


def test_budget_without_a_price(store: Store) -> None:
    """A budget that was asked for and cannot be held is refused; the usual one is not."""

    async def steps() -> None:
        asked = Desk(store, finished(cost_usd=None), priced=False, given="llm.budget_usd", budget_usd=1.0)
        with pytest.raises(SettingsError, match=r"set llm\.input_price"):
            await asked.ask()
        usual = Desk(store, finished(cost_usd=None), priced=False)
        assert await usual.ask()

    asyncio.run(steps())
