"""Events of a conversation with a language model, and a model that does as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.widgets.script import REFERENCE, ratio
from workbench.config import LlmSettings
from workbench.events import (
    Event,
    EventStream,
    ProposalDelta,
    ProposalFinished,
    ProposalStarted,
    ProposalWaiting,
    ProposerChanged,
    SolveFinished,
    SolveStep,
)
from workbench.llm.client import Facts, Messages

MODEL = "loopback/small"
CODE = REFERENCE.replace("    return", "    # proposed\n    return")
"""A proposal: one line more than the file has."""


def started(number: int = 1) -> ProposalStarted:
    """The model is asked."""
    return ProposalStarted(proposal=number, model=MODEL, sent="the task\nin two lines", prompt=f"{number:064x}")


def delta(text: str, number: int = 1, thinking: bool = False) -> ProposalDelta:
    """A piece of its reply."""
    return ProposalDelta(proposal=number, text=text, thinking=thinking)


def finished(number: int = 1, code: str = CODE, **more: Any) -> ProposalFinished:
    """The reply is over."""
    reply = f"Here it is.\n\n```python\n{code}```\n" if code else "No."
    facts = {"tokens_in": 1000, "tokens_out": 500, "cost_usd": 0.0125, "seconds": 3.2, "first_token_s": 0.4}
    outcome = "code" if code else "no-code"
    return ProposalFinished(
        **{"proposal": number, "model": MODEL, "outcome": outcome, "reply": reply, "code": code, **facts, **more}
    )


def conversation() -> list[Event]:
    """Every kind of event that a model's part can send."""
    best = ratio(1.34)
    step = SolveStep(run="solve-1", sample=1, step=2, steps=20, status="ok", best=best, best_sample=1, best_step=2)
    ended = SolveFinished(
        run="solve-1", problem="1_allreduce", model=MODEL, ending="target", reason="done", samples=1, correct=1
    )
    waiting = ProposalWaiting(proposal=1, seconds=7.0, reason="rate limit")
    process = [ProposerChanged(state="loading"), ProposerChanged(state="ready", elapsed_s=4.0)]
    return [*process, started(), waiting, delta("Here"), finished(), step, ended]


@dataclass
class ScriptedModel:
    """Stands for the client. Each reply is what ``replies`` says, piece by piece, as far as ``go`` lets it."""

    settings: LlmSettings
    stream: EventStream
    replies: list[ProposalFinished] = field(default_factory=list)
    pieces: int = 4
    asked: list[Messages] = field(default_factory=list)
    warmed: int = 0
    left: list[float | None] = field(default_factory=list)
    """What was left of the budget at each request."""
    closed: bool = False
    priced: bool = True
    hold: bool = False
    """Whether replies stop after their first piece."""
    before: int = 0
    """Requests that were made before the problem on screen was opened."""

    def warm(self) -> None:
        self.warmed += 1
        if self.warmed == 1:
            self.stream.emit(ProposerChanged(state="loading"))
            self.stream.emit(ProposerChanged(state="ready"))

    async def facts(self) -> Facts:
        return Facts(self.priced, None)

    async def ask(self, messages: Messages, left_usd: float | None = None) -> ProposalFinished:
        self.asked.append([dict(message) for message in messages])
        self.left.append(left_usd)
        number = len(self.asked) - self.before
        said = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        came = replace(said, proposal=number)
        self.stream.emit(replace(started(number), sent=messages[-1]["content"]))
        self._stopped = asyncio.Event()
        size = max(1, len(came.reply) // self.pieces)
        for place in range(0, len(came.reply), size):
            self.stream.emit(delta(came.reply[place : place + size], number))
            await asyncio.sleep(0)
            if self.hold:
                await self._stopped.wait()
            if self._stopped.is_set():
                came = replace(came, outcome="cancelled", code="", reply=came.reply[: place + size])
                break
        self.stream.emit(came)
        return came

    def cancel(self) -> None:
        self._stopped.set()

    def move(self, stream: EventStream) -> None:
        self.stream, self.before = stream, len(self.asked)
        if self.warmed:
            stream.emit(ProposerChanged(state="ready"))

    async def close(self) -> None:
        self.closed = True


def scripted(*replies: ProposalFinished, **more: Any) -> tuple[list[ScriptedModel], Callable[..., ScriptedModel]]:
    """The models that were made so far, and what makes one with this script."""
    made: list[ScriptedModel] = []

    def make(settings: LlmSettings, stream: EventStream) -> ScriptedModel:
        made.append(ScriptedModel(settings, stream, list(replies), **more))
        return made[-1]

    return made, make
