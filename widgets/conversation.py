"""What was said with a language model and what its proposals were worth, taken from event to event."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal

from workbench.events import (
    Event,
    ProposalDelta,
    ProposalFinished,
    ProposalStarted,
    ProposalWaiting,
    ProposerChanged,
    SolveFinished,
    SolveStep,
    SourceSeen,
    Verdict,
)

KEEP = 100
"""Exchanges that are kept."""
Decision = Literal["", "accepted", "accepted in part", "edited and accepted", "rejected"]
Agent = Literal["", "running", "paused"]
Process = Literal["off", "loading", "ready", "gone"]


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request and its reply, as far as it has come."""

    number: int
    model: str
    sent: str
    """What was new to the model."""
    prompt: str
    """Hex SHA-256 of the whole conversation that was sent."""
    reply: str = ""
    thinking: int = 0
    """Characters that the model has thought, which are no part of its reply."""
    waiting: ProposalWaiting | None = None
    """That the provider asked to come back later; None when something has come since."""
    finished: ProposalFinished | None = None
    decision: Decision = ""
    edited: str = ""
    """What the user made of its code and had judged; the newest such text."""

    @property
    def code(self) -> str:
        """The file that it proposes; empty where there is none."""
        return self.finished.code if self.finished is not None else ""


@dataclass(frozen=True)
class Tried:
    """A text of a proposal that was judged, or is being judged while ``verdict`` is None."""

    attempt: int
    digest: str
    verdict: Verdict | None = None


@dataclass(frozen=True, kw_only=True)
class Conversation:
    """All that the model pane shows. ``budget_usd`` is what it may cost in all; 0 = any amount."""

    model: str = ""
    budget_usd: float = 0.0
    spent_usd: float = 0.0
    """What all replies have cost, as far as their prices are known."""
    tokens: int = 0
    """Tokens sent and received."""
    priced: bool = True
    """Whether the price of every reply is known."""
    process: Process = "off"
    """The process that asks providers."""
    detail: str = ""
    """What became of it, where it is gone."""
    exchanges: tuple[Exchange, ...] = ()
    tried: tuple[Tried, ...] = ()
    chosen: int = 0
    """Number of the exchange whose proposal is looked at, tried and accepted; 0 while there is none."""
    agent: Agent = ""
    step: SolveStep | None = None
    """The newest step of the agent loop."""
    ended: SolveFinished | None = None
    """How the agent loop ended; None before its first end and while it runs."""
    note: str = ""
    """What kept the last request from being made, in words that say what to do."""

    @property
    def streaming(self) -> bool:
        """Whether a reply is being waited for."""
        return bool(self.exchanges) and self.exchanges[-1].finished is None

    @property
    def proposal(self) -> Exchange | None:
        """The proposal that keys are about."""
        return self.exchange(self.chosen)

    @property
    def proposals(self) -> tuple[Exchange, ...]:
        """Exchanges that hold code."""
        return tuple(one for one in self.exchanges if one.code)

    def exchange(self, number: int) -> Exchange | None:
        """The exchange of that number."""
        return next((one for one in self.exchanges if one.number == number), None)

    def worth(self, code: str) -> Tried | None:
        """How a text was judged last; None where it never was."""
        digest = _digest(code)
        return next((one for one in reversed(self.tried) if one.digest == digest), None)

    def anew(self) -> Conversation:
        """Another conversation; what was spent stays spent."""
        return replace(self, exchanges=(), tried=(), chosen=0, step=None, ended=None, note="")

    def decided(self, number: int, decision: Decision) -> Conversation:
        """With the user's word on a proposal."""
        return self._with(number, decision=decision)

    def edited(self, number: int, code: str) -> Conversation:
        """With what the user made of a proposal, to be judged."""
        return self._with(number, edited=code)

    def stepped(self, step: int) -> Conversation:
        """With an earlier or later proposal chosen."""
        numbers = [one.number for one in self.proposals]
        if self.chosen not in numbers:
            return self
        return replace(self, chosen=numbers[max(0, min(len(numbers) - 1, numbers.index(self.chosen) + step))])

    def after(self, event: Event) -> Conversation:
        """With one more event; the same object where it changes nothing."""
        change = _CHANGES.get(type(event))
        return self if change is None else change(self, event)

    def _with(self, number: int, **changes: Any) -> Conversation:
        exchanges = tuple(replace(one, **changes) if one.number == number else one for one in self.exchanges)
        return replace(self, exchanges=exchanges)

    def _process(self, event: ProposerChanged) -> Conversation:
        return replace(self, process=event.state, detail=event.detail)

    def _started(self, event: ProposalStarted) -> Conversation:
        new = Exchange(number=event.proposal, model=event.model, sent=event.sent, prompt=event.prompt)
        return replace(self, exchanges=(*self.exchanges, new)[-KEEP:], note="")

    def _delta(self, event: ProposalDelta) -> Conversation:
        one = self.exchange(event.proposal)
        if one is None:
            return self
        if event.thinking:
            return self._with(one.number, thinking=one.thinking + len(event.text), waiting=None)
        return self._with(one.number, reply=one.reply + event.text, waiting=None)

    def _waiting(self, event: ProposalWaiting) -> Conversation:
        return self._with(event.proposal, waiting=event)

    def _finished(self, event: ProposalFinished) -> Conversation:
        one = self.exchange(event.proposal)
        if one is None:
            return self
        done = self._with(one.number, finished=event, reply=event.reply or one.reply, waiting=None)
        return replace(
            done,
            chosen=one.number if event.code else self.chosen,
            spent_usd=self.spent_usd + (event.cost_usd or 0.0),
            tokens=self.tokens + event.tokens_in + event.tokens_out,
            priced=self.priced and (event.cost_usd is not None or not event.tokens_in),
        )

    def _step(self, event: SolveStep) -> Conversation:
        return replace(self, step=event, ended=None)

    def _ended(self, event: SolveFinished) -> Conversation:
        """The loop's best version is the one to look at."""
        best = next((one for one in self.proposals if _digest(one.code) == event.best_digest), None)
        return replace(self, ended=event, agent="", chosen=best.number if best else self.chosen)

    def _seen(self, event: SourceSeen) -> Conversation:
        if event.origin != "model" or not event.attempt:
            return self
        return replace(self, tried=(*self.tried, Tried(event.attempt, event.digest))[-KEEP:])

    def _verdict(self, event: Verdict) -> Conversation:
        if not any(one.attempt == event.attempt for one in self.tried):
            return self
        tried = (replace(one, verdict=event) if one.attempt == event.attempt else one for one in self.tried)
        return replace(self, tried=tuple(tried))


@lru_cache(256)
def _digest(code: str) -> str:
    return hashlib.sha256(code.encode(errors="replace")).hexdigest()


_CHANGES: Mapping[type[Event], Callable[[Conversation, Any], Conversation]] = {
    ProposerChanged: Conversation._process,
    ProposalStarted: Conversation._started,
    ProposalDelta: Conversation._delta,
    ProposalWaiting: Conversation._waiting,
    ProposalFinished: Conversation._finished,
    SolveStep: Conversation._step,
    SolveFinished: Conversation._ended,
    SourceSeen: Conversation._seen,
    Verdict: Conversation._verdict,
}
