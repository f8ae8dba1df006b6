"""A model as the pair of a person: one conversation, whose requests, trials and decisions come from the person."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from problems.starter import starter_text
from sessions.model import Solve
from sessions.solves import Solves
from workbench.config import Settings
from workbench.errors import SettingsError, StoreError, UsageError
from workbench.events import EventStream, Notice, ProposalFinished, Verdict
from workbench.llm.client import Facts, Messages, prompt_digest
from workbench.llm.feedback import Collected, Context, feedback_text, no_code_text
from workbench.llm.labels import look, with_run
from workbench.llm.prompt import conversation_start
from workbench.llm.talk import Talk
from workbench.llm.templates import Templates
from workbench.source import make_source
from workbench.target import Target

_T = TypeVar("_T")
SPENT = "${spent:.2f} of ${budget:.2f} are spent: raise llm.budget_usd (--budget) to go on"
_NO_PRICE = (
    "what {model} costs is not known, so that no budget can be held; set llm.input_price and llm.output_price "
    "(US dollars a million tokens, 0 for a model of your own)"
)
_UNCOUNTED = "what a reply cost could not be counted, so that no budget can be held: set llm.budget_usd to 0 to go on"
_FILE = "The user's file is now this, and what you propose next takes its place:\n\n```python\n{text}\n```"
_JUDGED = "The user's file as you know it was judged:\n\n{verdict}"
_EDITED = (
    "The user changed your proposal {step} and had this judged; their file is as before:"
    "\n\n```python\n{text}\n```\n\n{words}"
)
_REMARK = "A remark of the user: {remark}"
NOT_OURS = ("infra", "unknown", "cancelled", "superseded")
"""Verdicts that say nothing about a proposal."""


class Asker(Protocol):
    """The part of the client that a conversation needs."""

    async def facts(self) -> Facts:
        """What is known of the model."""

    async def ask(self, messages: Messages, left_usd: float | None = None) -> ProposalFinished:
        """The reply to a conversation."""


@dataclass(frozen=True)
class Kept:
    """A proposal of this conversation: its step, and its id in the session store."""

    step: int
    id: int


@dataclass
class Pair:
    """One conversation about the open problem; its proposals are kept as a run of the session store."""

    target: Target
    settings: Settings
    stream: EventStream
    client: Asker
    solves: Solves
    spent: Callable[[], float]
    """US dollars that were spent so far, of the budget."""
    kept: dict[int, Kept] = field(default_factory=dict)
    """Proposals with code, by the numbers that events give them."""
    _talk: Talk | None = field(init=False, default=None)
    _solve: Solve | None = field(init=False, default=None)
    _facts: Facts = field(init=False, default_factory=lambda: Facts(False, None))
    _known: str = field(init=False, default="")
    """The text of the user's file as the model knows it."""
    _uncounted: bool = field(init=False, default=False)
    """Whether a reply's cost could not be counted."""
    _judged: str = field(init=False, default="")
    """The newest text whose verdict the model knows, or has no need of."""

    def __post_init__(self) -> None:
        self._llm = self.settings.llm
        self._templates = Templates(self._llm.templates)

    async def propose(self, text: str, verdict: str, remark: str = "") -> ProposalFinished:
        """The next proposal. ``text`` is the user's file as it is now, ``verdict`` what became of it, if known.

        What goes wrong with the reply is told in the result. Raises SettingsError where no model is named or a budget
        cannot be held, UsageError where it is spent and for templates.
        """
        talk = await self._begun()
        left = self._left()
        before = list(talk.waiting)
        talk.waiting += self._news(text, verdict)
        talk.waiting += [_REMARK.format(remark=remark)] if remark else []
        sent, prompt = talk.to_send(), prompt_digest(talk.messages())
        try:
            came = await self._ask(talk, left)
        except BaseException:
            talk.waiting = before
            raise
        assert self._solve is not None
        about = (self._solve.name, talk.sample, talk.steps + 1, prompt, sent, came)
        proposal = await self._keep(lambda: self.solves.propose(*about))
        if came.outcome in ("cancelled", "error"):
            kept = came.outcome == "error" and remark
            talk.waiting = [*before, _REMARK.format(remark=remark)] if kept else before
            return came
        talk.replied(came.reply)
        self._uncounted = self._uncounted or came.cost_usd is None
        self._known = text
        self._judged = text if verdict else self._judged
        await self._replied(talk, came, proposal)
        return came

    async def tried(
        self, number: int, text: str, verdict: Verdict, collected: Collected, *, edited: bool = False
    ) -> None:
        """A proposal was judged, or what the user made of it: the model is told with the next request."""
        talk, kept = self._talk, self.kept.get(number)
        if talk is None or kept is None or verdict.status in NOT_OURS:
            return
        self._judged = text
        if edited:
            words = self._words(verdict, collected, text)
            talk.waiting.append(_EDITED.format(step=kept.step, text=text.rstrip("\n"), words=words))
            return
        digest = make_source(self.target.path, text).digest
        if kept.step == talk.steps:
            talk.judged(verdict.status, verdict.speedup, digest, kept.id)
        words = self._words(verdict, collected, text)
        talk.waiting.append(f"Of your proposal {kept.step}:\n\n{words}")
        await self._keep(lambda: self.solves.answer(kept.id, words))

    def decided(self, number: int, words: str, text: str = "") -> None:
        """The user accepted or rejected a proposal; ``text`` is what their file became, empty where it stayed."""
        kept = self.kept.get(number)
        if self._talk is None or kept is None:
            return
        self._talk.waiting.append(f"The user {words} your proposal {kept.step}.")
        self._known = text or self._known

    def feedback(self, verdict: Verdict, collected: Collected, text: str) -> str:
        """What the model is told of a verdict on the user's own file."""
        return self._words(verdict, collected, text)

    async def close(self) -> None:
        """Keep that the conversation is over; it can be gone on with by ``pkwb solve --resume``."""
        if self._solve is not None:
            name, self._solve = self._solve.name, None
            await self._keep(lambda: self.solves.mark(name, "stopped", "a conversation of the workbench"))

    async def _begun(self) -> Talk:
        """The conversation; begun with the first request, when the model's prices are known."""
        if self._talk is not None:
            return self._talk
        self._facts = await self.client.facts()
        if "llm.budget_usd" in self.settings.given and self._llm.budget_usd and not self._facts.priced:
            raise SettingsError(_NO_PRICE.format(model=self._llm.model))
        start = await asyncio.to_thread(conversation_start, self.target, self.settings)
        self._known = await asyncio.to_thread(starter_text, self.target.problem, self.target.backend)
        self._judged = self._known
        options = {name: dataclasses.asdict(getattr(self.settings, name)) for name in ("llm", "run")}
        about = (self.target, self._llm.model, self._llm.feedback, options)
        self._solve = await self._keep(lambda: self.solves.begin(*about))
        self._talk = Talk(1, start)
        return self._talk

    def _left(self) -> float | None:
        """US dollars that may still be spent; None where there is no limit. UsageError where none are left."""
        budget = self._llm.budget_usd
        if not self._facts.priced or not budget:
            return None
        if self._uncounted:
            raise UsageError(_UNCOUNTED)
        spent = self.spent()
        if spent >= budget:
            raise UsageError(SPENT.format(spent=spent, budget=budget))
        return budget - spent

    def _news(self, text: str, verdict: str) -> list[str]:
        """The user's file where the model does not know it as it is."""
        if not text.strip():
            return []
        told = verdict and text != self._judged
        if text == self._known:
            return [_JUDGED.format(verdict=verdict)] if told else []
        return [_FILE.format(text=text.rstrip("\n")), *([verdict] if told else [])]

    async def _ask(self, talk: Talk, left: float | None) -> ProposalFinished:
        """A reply, after leaving out the middle of a conversation that has become too long."""
        came = await self.client.ask(talk.messages(), left)
        if came.trouble == "context" and talk.shorten():
            words = "the conversation is too long: its middle is left out"
            self.stream.emit(Notice(severity="information", text=words))
            came = await self.client.ask(talk.messages(), left)
        return came

    async def _replied(self, talk: Talk, came: ProposalFinished, proposal: int) -> None:
        if came.outcome == "code":
            self.kept[came.proposal] = Kept(talk.steps, proposal)
            return
        talk.judged(came.outcome, None, "", proposal)
        words = no_code_text(came.outcome, came.reason, self._templates)
        talk.waiting.append(words)
        await self._keep(lambda: self.solves.answer(proposal, words))

    def _words(self, verdict: Verdict, collected: Collected, text: str) -> str:
        breach = with_run(look(text), verdict.profile).breach(self._llm.require)
        context = Context(self._llm.feedback, self._llm.target, "", breach, False)
        return feedback_text(verdict, collected, context, self._templates)

    async def _keep(self, action: Callable[[], _T]) -> _T:
        """Write into the store, which goes on in memory when its file refuses; that is told by the recorder."""
        try:
            return await asyncio.to_thread(action)
        except StoreError:
            return await asyncio.to_thread(action)
