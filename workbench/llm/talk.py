"""One sample: a conversation with a model about a problem, how far it has come, and its best version."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from sessions.model import Attempt, Proposal
from workbench.events import Ratio
from workbench.llm.client import Messages

_ORDER = ("no-code", "cut-off", "build-error", "load-error", "crash", "hang", "contract", "wrong", "suspect", "ok")
"""Endings from the farthest to the nearest; one that is nearer than all before is progress."""
_FASTER = 1.01
"""A right version counts as progress when it is faster than the best by so much.

Speedups are compared by the lower ends of their intervals: among many noisy ones the highest median is luck.
"""


@dataclass
class Talk:
    """What was said in one sample, and what is to be sent next."""

    sample: int
    start: Messages
    said: Messages = field(default_factory=list)
    """Everything after the start that the model has seen or written, in turn."""
    waiting: list[str] = field(default_factory=list)
    """What is to be sent with the next request."""
    steps: int = 0
    stalled: int = 0
    """Proposals in a row without progress."""
    right: bool = False
    best: Ratio | None = None
    best_step: int = 0
    best_digest: str = ""
    best_proposal: int = 0
    digests: set[str] = field(default_factory=set)
    _nearest: int = -1
    _best_said: tuple[int, int] = (0, 0)

    def to_send(self) -> Messages:
        """The messages that are new to the model."""
        if not self.steps and not self.said:
            first, last = self.start[:-1], self.start[-1]
            text = "\n\n".join([last["content"], *self.waiting])
            return [*first, {"role": last["role"], "content": text}]
        return [{"role": "user", "content": "\n\n".join(self.waiting or ["Go on."])}]

    def messages(self) -> Messages:
        """The whole conversation with what is to be sent."""
        return [*self.said, *self.to_send()]

    def replied(self, reply: str) -> None:
        """What was to be sent has been answered."""
        self.said += [*self.to_send(), {"role": "assistant", "content": reply or "(nothing)"}]
        self.waiting = []
        self.steps += 1

    def judged(self, status: str, speedup: Ratio | None, digest: str, proposal: int) -> bool:
        """Note what the newest proposal was worth; whether it is the best version of this sample."""
        place = _ORDER.index(status) if status in _ORDER else -1
        nearer, self._nearest = place > self._nearest, max(place, self._nearest)
        better = status == "ok" and self._is_better(speedup)
        faster = better and (self.best is None or speedup is None or speedup.sure >= self.best.sure * _FASTER)
        self.stalled = 0 if nearer or faster else self.stalled + 1
        if better:
            self.right, self.best, self.best_step = True, speedup, self.steps
            self.best_digest, self.best_proposal = digest, proposal
            self._best_said = self._newest_exchange()
        self.digests.add(digest)
        return better

    def shorten(self) -> bool:
        """Leave out all but the task, the best version and the newest exchange; False where that is all there is."""
        head = len(self.start)
        spans = sorted({self._best_said, self._newest_exchange()})
        kept = [message for first, last in spans for message in self.said[first:last]]
        if len(kept) >= len(self.said) - head:
            return False
        self.said = _alternating([*self.said[:head], *kept])
        self._best_said = (0, 0)
        return True

    def _newest_exchange(self) -> tuple[int, int]:
        """Where the newest reply and what it answers stand among what was said; the task itself is not part of it."""
        return max(len(self.start), len(self.said) - 2), len(self.said)

    def _is_better(self, speedup: Ratio | None) -> bool:
        if not self.right:
            return True
        return speedup is not None and _worth(speedup) > _worth(self.best)


def _alternating(messages: Messages) -> Messages:
    """Two messages of the user's in a row become one, as some providers demand."""
    found: Messages = []
    for message in messages:
        if found and found[-1]["role"] == message["role"]:
            found[-1] = {**message, "content": f"{found[-1]['content']}\n\n{message['content']}"}
        else:
            found.append(message)
    return found


def replay(talk: Talk, proposals: Iterable[Proposal], attempts: Mapping[int, Attempt]) -> Proposal | None:
    """Bring a conversation to where the kept proposals of its sample end; the proposal that is still to be judged.

    ``attempts`` are by the ids of their proposals.
    """
    unjudged = None
    for proposal in proposals:
        talk.said += [*map(dict, proposal.sent), {"role": "assistant", "content": proposal.reply or "(nothing)"}]
        talk.steps += 1
        talk.waiting = [proposal.answer] if proposal.answer else []
        attempt = attempts.get(proposal.id)
        unjudged = proposal if proposal.outcome == "code" and proposal.answer is None else None
        if attempt is not None and unjudged is None:
            talk.judged(attempt.status, attempt.speedup, attempt.digest, proposal.id)
        elif unjudged is None:
            talk.judged(proposal.outcome, None, "", proposal.id)
    return unjudged


def best_of(talks: Sequence[Talk]) -> Talk | None:
    """The sample with the fastest right version; None while none is right."""
    right = [talk for talk in talks if talk.right]
    return max(right, key=lambda talk: _worth(talk.best), default=None)


def _worth(speedup: Ratio | None) -> tuple[float, float]:
    """What versions are ordered by; medians decide between those without an interval."""
    return (speedup.sure, speedup.median) if speedup else (0.0, 0.0)
