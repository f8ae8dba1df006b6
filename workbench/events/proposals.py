"""A language model is asked, and answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.events.base import Event


@dataclass(frozen=True, kw_only=True)
class ProposerChanged(Event):
    """The process that asks language models: ``loading`` takes 4-13 s, ``gone`` says in ``detail`` what happened."""

    state: Literal["loading", "ready", "gone"]
    detail: str = ""
    elapsed_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class ProposalStarted(Event):
    """A model is asked. ``sent`` is what is new to it in this conversation, ``prompt`` the hex SHA-256 of all of it."""

    proposal: int
    """Counts the proposals of one sitting from 1."""
    model: str
    sent: str
    prompt: str


@dataclass(frozen=True, kw_only=True)
class ProposalDelta(Event):
    """A piece of a streamed reply; ``thinking`` pieces come before the answer and are no part of it."""

    proposal: int
    text: str
    thinking: bool = False


@dataclass(frozen=True, kw_only=True)
class ProposalWaiting(Event):
    """The provider asked to come back later: in ``seconds`` the request is sent again."""

    proposal: int
    seconds: float
    reason: str


ProposalOutcome = Literal["code", "no-code", "cut-off", "cancelled", "error"]
"""``code``: a whole file that defines solution. ``cut-off``: the reply ended inside it. ``error``: there is none."""
ProposalTrouble = Literal[
    "", "key", "network", "rate", "context", "model", "timeout", "server", "request", "budget", "proposer"
]
"""What kept a reply from coming, where ``outcome`` is ``error``."""


@dataclass(frozen=True, kw_only=True)
class ProposalFinished(Event):
    """A reply is over. ``reason`` says what to do where there is no code; ``code`` is the file that was proposed.

    ``cost_usd`` is None where no price is known; tokens are the provider's count, estimated for a cancelled reply.
    """

    proposal: int
    model: str
    outcome: ProposalOutcome
    trouble: ProposalTrouble = ""
    reason: str = ""
    reply: str = ""
    code: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    seconds: float = 0.0
    first_token_s: float | None = None
