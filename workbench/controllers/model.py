"""What the app does about the language model: requests and the agent loop, on the user's word."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from widgets.conversation import Conversation
from workbench.controllers.agent import AgentLoop
from workbench.controllers.asking import Asking, Client
from workbench.controllers.proposals import Proposals
from workbench.errors import PkwbError, UsageError
from workbench.events import (
    BuildFinished,
    Diagnostic,
    Event,
    Log,
    ProposalFinished,
    RankStack,
    RankVerdict,
    SourceSeen,
    Verdict,
)
from workbench.source import make_source

if TYPE_CHECKING:
    from workbench.app import Workbench
    from workbench.desk import Desk
    from workbench.llm.pair import Pair

_TOLD = (BuildFinished, Diagnostic, Log, RankStack, RankVerdict, Verdict)
_MOST_EVENTS = 2000
_GIVE_UP_SECONDS = 0.3
"""How long a cancelled request may take to say what it has cost."""
_LOADING = "asked; the request is sent when the process that asks models has loaded, which takes some seconds"
_BUSY = "a reply is on its way: c cancels it"
_STEERED = "the agent loop proposes by itself: m steers it with a remark, L stops it"


class ModelControl:
    """The model of one desk; ``before`` is the conversation of the desk before it, since the budget is the sitting's.

    Each wish of the pane is one method; what keeps it from being done is said in the pane.
    """

    def __init__(self, app: Workbench, desk: Desk, asking: Asking, before: Conversation | None) -> None:
        self._app, self._desk, self._asking = app, desk, asking
        self._settings = app.settings
        self._request: asyncio.Task[ProposalFinished] | None = None
        self._agent = AgentLoop(desk.target, app.settings, desk.stream, self._spent)
        self._proposals = Proposals(app, desk, self._propose, self._id_of)
        desk.runs.proposed = self._proposals.proposed
        self._own: tuple[int, str] = (0, "")
        """Number and digest of the newest attempt at the user's own file."""
        self._remarks: list[str] = []
        """Remarks that were made while a reply was on its way."""
        self._own_events: deque[Event] = deque(maxlen=_MOST_EVENTS)
        llm = app.settings.llm
        new = Conversation(model=llm.model, budget_usd=llm.budget_usd)
        self._change(new if before is None else replace(before.anew(), agent=""))
        desk.stream.subscribe(self._on_event)

    @property
    def busy(self) -> bool:
        """Whether a reply is waited for, or the agent loop runs."""
        return self._agent.running or (self._request is not None and not self._request.done())

    @property
    def talk(self) -> Conversation:
        """What the pane shows."""
        return self._desk.view.talk

    async def do(self, what: str, text: str = "") -> None:
        """Do what is wanted; ``text`` belongs to it."""
        try:
            await _WISHES[what](self, text)
        except PkwbError as error:
            self._note(str(error))

    def show(self) -> None:
        """Bring the newest state into the dialog, if one is open."""
        self._proposals.show()

    async def close(self) -> None:
        """End requests, trials and the agent loop; what was said stays in the store."""
        await self._agent.stop()
        await self._drop_request()
        await self._proposals.close()
        await self._end_conversation()

    # -- asking

    async def _open(self, _text: str) -> None:
        """The process that asks models starts, in the background."""
        self._asked().warm()

    async def _propose(self, remark: str) -> None:
        if self.busy:
            self._steer(remark)
            return
        self._request = asyncio.create_task(self._ask(remark))
        await asyncio.wait({self._request})
        if not self._request.cancelled():
            self._say(self._request.result())

    def _steer(self, remark: str) -> None:
        """A remark for the next request, while the loop runs or a reply is on its way."""
        if not remark:
            raise UsageError(_STEERED if self._agent.running else _BUSY)
        self._agent.steer(remark) if self._agent.running else self._remarks.append(remark)
        self._app.tell("the model is told with the next request", "information")

    async def _ask(self, remark: str) -> ProposalFinished:
        self._asked().warm()
        self._note("" if self.talk.process == "ready" else _LOADING)
        pair = await self._paired()
        text = self._desk.editor_pane.editor.text
        remark = "\n".join(filter(None, (*self._remarks, remark)))
        self._remarks.clear()
        return await pair.propose(text, self._own_verdict(pair, text), remark)

    def _say(self, came: ProposalFinished) -> None:
        """What came, for people who look elsewhere."""
        if self._app.arrangement.active == "model":
            return
        if came.outcome == "code":
            self._app.tell(
                f"proposal #{came.proposal} is here: in the model pane (0) d shows it, t tries it", "information"
            )
        elif came.outcome != "cancelled":
            self._app.tell(f"no proposal: {came.reason}", "warning")

    async def _cancel(self, _text: str) -> None:
        if self._agent.running:
            await self._stop_agent()
        elif self.busy:
            await self._drop_request()
        elif not await self._proposals.stop_trials():
            raise UsageError("no reply is on its way: p asks for a proposal")

    async def _drop_request(self) -> None:
        """End the request; the process says what it has cost, if it can do so at once."""
        request = self._request
        if request is None or request.done():
            return
        if self.talk.streaming:
            self._asking.cancel()
            await asyncio.wait({request}, timeout=_GIVE_UP_SECONDS)
        request.cancel()
        await asyncio.wait({request})
        self._note("")

    async def _anew(self, _text: str) -> None:
        """Another conversation: the model forgets this one."""
        if self.busy:
            raise UsageError(_BUSY)
        await self._end_conversation()
        self._change(self.talk.anew())

    async def _end_conversation(self) -> None:
        pair, self._proposals.pair = self._proposals.pair, None
        if pair is not None:
            await pair.close()

    def _asked(self) -> Client:
        return self._asking.client(self._desk.stream)

    async def _paired(self) -> Pair:
        if self._proposals.pair is None:
            from workbench.llm.pair import Pair

            bench = await self._desk.runs.bench()
            target, solves = self._desk.target, bench.solves()
            self._proposals.pair = Pair(target, self._settings, self._desk.stream, self._asked(), solves, self._spent)
        return self._proposals.pair

    def _spent(self) -> float:
        return self.talk.spent_usd

    def _id_of(self, number: int) -> int | None:
        """The id that a proposal has in the session store, whether the user asked for it or the agent loop."""
        kept = self._proposals.pair.kept.get(number) if self._proposals.pair is not None else None
        return kept.id if kept is not None else self._agent.ids.get(number)

    async def _try(self, text: str) -> None:
        if self._request is not None and not self.talk.streaming:
            await asyncio.wait({self._request})  # a reply that has just come is being kept
        await self._proposals.judge(text)

    async def _diff(self, _text: str) -> None:
        await self._proposals.look()

    async def _edit(self, _text: str) -> None:
        await self._proposals.look(editing=True)

    async def _accept(self, _text: str) -> None:
        await self._proposals.accept()

    async def _reject(self, _text: str) -> None:
        self._proposals.reject()

    async def _earlier(self, _text: str) -> None:
        self._proposals.step(-1)

    async def _later(self, _text: str) -> None:
        self._proposals.step(1)

    async def _worth(self, _text: str) -> None:
        self.show()

    # -- the agent loop

    async def _toggle_agent(self, _text: str) -> None:
        if self._agent.running:
            await self._stop_agent()
            return
        if self.busy:
            raise UsageError(_BUSY)
        self._asked().warm()
        before = self.talk.ended
        stopped = before.run if before is not None and before.ending in ("stopped", "trouble") else ""
        self._change(replace(self.talk, agent="running", ended=None, step=None, note=""))
        text = self._desk.editor_pane.editor.text
        try:
            whole = await self._agent.run(self._asked(), self._desk.runs.bench, text, stopped)
        finally:
            self._change(replace(self.talk, agent="", ended=self.talk.ended or before))
        if whole and (last := self.talk.ended) is not None:
            best = "; d shows its best proposal" if last.best_step else ""
            self._app.tell(f"the agent loop ended: {last.reason}{best}", "information")

    async def _stop_agent(self) -> None:
        await self._agent.stop()
        tried = self.talk.tried
        if tried and tried[-1].verdict is None:
            self._desk.runs.cancel()

    async def _pause(self, _text: str) -> None:
        if not self._agent.running:
            raise UsageError("the agent loop does not run: L starts it")
        self._agent.toggle()
        self._change(replace(self.talk, agent="paused" if self._agent.paused else "running"))

    # -- what is shown and known

    def _change(self, talk: Conversation) -> None:
        self._desk.view = replace(self._desk.view, talk=talk)
        self._desk.on_change()

    def _note(self, words: str) -> None:
        self._change(replace(self.talk, note=words))

    def _on_event(self, event: Event) -> None:
        if isinstance(event, SourceSeen) and event.changed and event.attempt and event.origin != "model":
            self._own = (event.attempt, event.digest)
            self._own_events.clear()
        elif isinstance(event, _TOLD) and event.attempt == self._own[0]:
            self._own_events.append(event)

    def _own_verdict(self, pair: Pair, text: str) -> str:
        """What the model is told of the user's own text, where it was judged as it is now."""
        from workbench.llm.feedback import Collected

        verdict = next((event for event in self._own_events if isinstance(event, Verdict)), None)
        if verdict is None or self._own[1] != make_source(self._desk.target.path, text).digest:
            return ""
        collected = Collected()
        for event in self._own_events:
            collected.take(event)
        return pair.feedback(verdict, collected, text)


_Wish = Callable[[ModelControl, str], Awaitable[Any]]
_WISHES: Mapping[str, _Wish] = {
    "opened": ModelControl._open,
    "propose": ModelControl._propose,
    "remark": ModelControl._propose,
    "cancel": ModelControl._cancel,
    "anew": ModelControl._anew,
    "diff": ModelControl._diff,
    "edit": ModelControl._edit,
    "try": ModelControl._try,
    "accept": ModelControl._accept,
    "reject": ModelControl._reject,
    "earlier": ModelControl._earlier,
    "later": ModelControl._later,
    "worth": ModelControl._worth,
    "agent": ModelControl._toggle_agent,
    "pause": ModelControl._pause,
}
"""What the pane and the palette can want."""
