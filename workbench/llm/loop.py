"""The agent loop: propose, judge, tell the model what matters, keep the best; until a target, a limit or a stall."""

from __future__ import annotations

import asyncio
import dataclasses
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from sessions.model import Proposal, Proposed, Solve
from sessions.solves import Solves
from workbench.config import Settings
from workbench.errors import SettingsError, StoreError
from workbench.events import (
    EventStream,
    Notice,
    ProposalFinished,
    Ratio,
    SolveEnding,
    SolveFinished,
    SolveStep,
)
from workbench.llm.client import Facts, Messages, ModelClient, prompt_digest
from workbench.llm.code import find_code
from workbench.llm.devices import hardware_of
from workbench.llm.feedback import Context, best_words, feedback_text, no_code_text
from workbench.llm.judging import Judging
from workbench.llm.labels import NOTHING, Look, look, with_run
from workbench.llm.talk import Talk, best_of, replay
from workbench.llm.templates import Templates
from workbench.source import make_source
from workbench.target import Target

_T = TypeVar("_T")
_NOT_OURS = ("infra", "unknown", "cancelled", "superseded")
"""Verdicts that say nothing about a proposal: the loop stops, and can be resumed."""
_NO_STEP = ("cancelled", "error")
"""Requests that are kept for their cost, but were not answered."""
_UNPRICED = (
    "what {model} costs is not known, so that {what}; set llm.input_price and llm.output_price "
    "(US dollars a million tokens, 0 for a model of your own)"
)


class _Stop(Exception):
    """The run ends here."""

    def __init__(self, ending: SolveEnding, reason: str) -> None:
        super().__init__(reason)
        self.ending: SolveEnding = ending
        self.reason = reason


@dataclass
class _Spent:
    """What the run has used, over all its sittings."""

    usd: float = 0.0
    tokens: int = 0
    uncounted: bool = False
    """Whether a reply's cost could not be counted."""
    elsewhere_s: float = 0.0
    """Seconds of this sitting in which the loop waited for the model or the judging."""

    def add(self, cost: float | None, tokens: int) -> None:
        """Add one reply."""
        self.usd += cost or 0.0
        self.uncounted = self.uncounted or cost is None
        self.tokens += tokens


@dataclass
class Solver:
    """One run on one problem, in one asyncio loop. ``start`` is the beginning of each conversation."""

    target: Target
    settings: Settings
    stream: EventStream
    client: ModelClient
    judging: Judging
    solves: Solves
    start: Messages
    settle: Callable[[], Awaitable[None]]
    """Waits until all that was judged is in the store."""
    solve: Solve | None = None
    """A run to go on with; None for a new one."""
    ids: dict[int, int] = field(default_factory=dict)
    """Ids in the session store of the proposals that were made, by the numbers that events give them."""
    _spent: _Spent = field(init=False, default_factory=_Spent)
    _talks: list[Talk] = field(init=False, default_factory=list)
    _remarks: list[str] = field(init=False, default_factory=list)
    _going: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _release: Callable[[], None] = field(init=False, default=lambda: None)
    _facts: Facts = field(init=False, default_factory=lambda: Facts(False, None))

    def __post_init__(self) -> None:
        self._going.set()
        self._llm = self.settings.llm
        self._templates = Templates(self._llm.templates)

    @property
    def name(self) -> str:
        """The run's name; empty before it has begun."""
        return self.solve.name if self.solve else ""

    @property
    def paused(self) -> bool:
        """Whether the loop waits, or will before its next request."""
        return not self._going.is_set()

    def pause(self) -> None:
        """Send no further request until :meth:`go_on`."""
        self._going.clear()

    def go_on(self) -> None:
        """Go on after a pause."""
        self._going.set()

    def steer(self, remark: str) -> None:
        """Tell the model something with the next request."""
        self._remarks.append(remark)

    async def run(self) -> SolveFinished:
        """Run to the end. Cancelled, it ends as ``stopped``, keeps what there is, and lets the cancellation through.

        A store that fails ends it as trouble. Raises SettingsError for a budget that cannot be held, UsageError for a
        run that another program has, and errors of the templates.
        """
        began = time.monotonic()
        await self._begin()
        ending: SolveEnding = "stopped"
        reason = "it was interrupted"
        try:
            ending, reason = await self._samples()
        except _Stop as stop:
            ending, reason = stop.ending, stop.reason
        except StoreError as error:
            ending, reason = "trouble", str(error)
        finally:
            try:
                finished = await self._finish(ending, reason, time.monotonic() - began)
            finally:
                self._release()
        return finished

    async def _begin(self) -> None:
        """See whether the budget can be held, then name the run, or go on with the one that there is."""
        self._facts = await self._elsewhere(self.client.facts())
        if self._llm.budget_usd and not self._facts.priced:
            self._no_price()
        if self.solve is not None:
            self._release = await asyncio.to_thread(self.solves.claim, self.name)
            await asyncio.to_thread(self.solves.mark, self.name, "running")
            return
        options = {name: dataclasses.asdict(getattr(self.settings, name)) for name in ("llm", "run")}
        hardware = await asyncio.to_thread(hardware_of, self.target)
        about = (self.target, self._llm.model, self._llm.feedback, options, hardware)
        self.solve = await asyncio.to_thread(self.solves.begin, *about)
        self._release = await asyncio.to_thread(self.solves.claim, self.name)

    def _no_price(self) -> None:
        """An error where the user asked for a budget, else a warning that the usual one does not hold."""
        if "llm.budget_usd" in self.settings.given:
            raise SettingsError(_UNPRICED.format(model=self._llm.model, what="no budget can be held"))
        words = _UNPRICED.format(model=self._llm.model, what="only the number of proposals ends this run")
        self.stream.emit(Notice(severity="warning", text=words))

    async def _samples(self) -> tuple[SolveEnding, str]:
        """All samples; the ending of the last one, or that a target was reached."""
        kept = await asyncio.to_thread(self.solves.proposals, self.name)
        attempts = await asyncio.to_thread(self.solves.attempts, self.name)
        for proposal in kept:
            self._spent.add(proposal.cost, proposal.tokens_in + proposal.tokens_out)
        endings: list[tuple[SolveEnding, str]] = []
        for sample in range(1, self._llm.samples + 1):
            talk = Talk(sample, list(self.start))
            self._talks.append(talk)
            mine = [one for one in kept if one.sample == sample and one.outcome not in _NO_STEP]
            endings.append(await self._sample(talk, replay(talk, mine, attempts)))
        return next((found for found in endings if found[0] == "target"), endings[-1])

    async def _sample(self, talk: Talk, unjudged: Proposal | None) -> tuple[SolveEnding, str]:
        if unjudged is not None:
            await self._judge(talk, find_code(unjudged.reply, "stop").code, unjudged.id)
        while True:
            ending = self._ending(talk)
            if ending is not None:
                return ending
            await self._going.wait()
            await self._step(talk)

    def _ending(self, talk: Talk) -> tuple[SolveEnding, str] | None:
        """Why a sample is over; None while it is not."""
        llm = self._llm
        if llm.target and talk.best is not None and talk.best.sure >= llm.target:
            return "target", f"{talk.best.median:.2f}x reaches the target of {llm.target:g}x"
        if talk.right and self.target.not_timed:
            return "target", f"a right version was found, and calls are not timed here: {self.target.not_timed}"
        if talk.steps >= llm.steps:
            return "steps", f"{llm.steps} proposal{'s' if llm.steps != 1 else ''} made"
        if llm.stall and talk.stalled >= llm.stall:
            return "stall", f"{talk.stalled} proposals in a row were no progress"
        if self._left() is not None and self._spent.usd >= llm.budget_usd:
            raise _Stop("budget", f"${self._spent.usd:.2f} of ${llm.budget_usd:.2f} are spent")
        if self._left() is not None and self._spent.uncounted:
            raise _Stop("budget", "what a reply cost could not be counted, so that the budget cannot be held")
        return None

    def _left(self) -> float | None:
        if not self._facts.priced or not self._llm.budget_usd:
            return None
        return self._llm.budget_usd - self._spent.usd

    async def _step(self, talk: Talk) -> None:
        talk.waiting += [f"A remark of the user: {remark}" for remark in self._remarks]
        self._remarks.clear()
        sent, prompt = talk.to_send(), prompt_digest(talk.messages())
        came = await self._ask(talk)
        proposal = await asyncio.to_thread(
            self.solves.propose, self.name, talk.sample, talk.steps + 1, prompt, sent, came
        )
        self.ids[came.proposal] = proposal
        self._spent.add(came.cost_usd, came.tokens_in + came.tokens_out)
        if came.outcome == "cancelled":
            raise _Stop("stopped", "the request was cancelled")
        talk.replied(came.reply)
        if came.outcome == "code":
            await self._judge(talk, came.code, proposal)
        else:
            talk.judged(came.outcome, None, "", proposal)
            await self._tell(talk, proposal, no_code_text(came.outcome, came.reason, self._templates))
            self._report(talk, came.outcome, None)

    async def _ask(self, talk: Talk) -> ProposalFinished:
        """A reply, after leaving out the middle of a conversation that has become too long; _Stop where none comes."""
        came = await self._elsewhere(self.client.ask(talk.messages(), self._left()))
        if came.trouble == "context" and talk.shorten():
            self.stream.emit(
                Notice(severity="information", text="the conversation is too long: its middle is left out")
            )
            came = await self._elsewhere(self.client.ask(talk.messages(), self._left()))
        if came.outcome == "error":
            raise _Stop("budget" if came.trouble == "budget" else "trouble", came.reason)
        return came

    async def _judge(self, talk: Talk, code: str, proposal: int) -> None:
        source = make_source(self.target.path, code)
        repeated = source.digest in talk.digests
        verdict, collected = await self._elsewhere(self.judging.judge(source, Proposed(self._llm.model, proposal)))
        if verdict.status in _NOT_OURS:
            raise _Stop("trouble", f"the proposal could not be judged: {verdict.reason or verdict.status}")
        seen = with_run(look(code), verdict.profile)
        talk.judged(verdict.status, verdict.speedup, source.digest, proposal)
        context = self._context(talk, seen.breach(self._llm.require), repeated)
        await self._tell(talk, proposal, feedback_text(verdict, collected, context, self._templates))
        self._report(talk, verdict.status, verdict.speedup, seen)

    def _context(self, talk: Talk, breach: str, repeated: bool) -> Context:
        best = best_words(talk.best, talk.best_step)
        return Context(self._llm.feedback, self._llm.target, best, breach, repeated)

    async def _tell(self, talk: Talk, proposal: int, text: str) -> None:
        talk.waiting.append(text)
        await asyncio.to_thread(self.solves.answer, proposal, text)

    async def _elsewhere(self, work: Awaitable[_T]) -> _T:
        """Await what is not the loop's own time."""
        began = time.monotonic()
        try:
            return await work
        finally:
            self._spent.elsewhere_s += time.monotonic() - began

    def _report(self, talk: Talk, status: str, speedup: Ratio | None, seen: Look = NOTHING) -> None:
        best = best_of(self._talks)
        self.stream.emit(
            SolveStep(
                run=self.name,
                sample=talk.sample,
                step=talk.steps,
                steps=self._llm.steps,
                status=status,
                speedup=speedup,
                label=seen.label,
                doubt=seen.doubt,
                best=best.best if best else None,
                best_sample=best.sample if best else 0,
                best_step=best.best_step if best else 0,
                spent_usd=self._spent.usd,
                tokens=self._spent.tokens,
            )
        )

    async def _finish(self, ending: SolveEnding, reason: str, seconds: float) -> SolveFinished:
        """Keep how the run ended and tell it."""
        await self.settle()
        best = best_of(self._talks)
        seen = await asyncio.to_thread(self._seen, best.best_proposal) if best else NOTHING
        state = "stopped" if ending in ("stopped", "trouble") else "finished"
        await asyncio.to_thread(self.solves.mark, self.name, state, reason)
        finished = SolveFinished(
            run=self.name,
            problem=self.target.problem.stem,
            model=self._llm.model,
            ending=ending,
            reason=reason,
            samples=len(self._talks),
            correct=sum(talk.right for talk in self._talks),
            best=best.best if best else None,
            best_sample=best.sample if best else 0,
            best_step=best.best_step if best else 0,
            best_id=await asyncio.to_thread(self.solves.attempt_of, best.best_proposal) if best else 0,
            best_digest=best.best_digest if best else "",
            label=seen.label,
            doubt=seen.doubt,
            spent_usd=self._spent.usd,
            tokens=self._spent.tokens,
            own_seconds=max(0.0, seconds - self._spent.elsewhere_s),
        )
        self.stream.emit(finished)
        return finished

    def _seen(self, proposal: int) -> Look:
        """What a proposal moves data with, by its text and by the profile that its attempt has in the store."""
        code = find_code(self.solves.proposal(proposal).reply, "stop").code
        return with_run(look(code), self.solves.profile_of(proposal))
