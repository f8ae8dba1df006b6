"""What the app does about the language model: requests, trials and decisions, each on the user's word."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from widgets.conversation import Conversation, Decision, Exchange
from workbench.controllers.agent import AgentLoop
from workbench.controllers.asking import Client, ClientMaker
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
    from widgets.screens.proposal import Decided, ProposalScreen
    from workbench.app import Workbench
    from workbench.desk import Desk
    from workbench.llm.pair import Pair

_TOLD = (BuildFinished, Diagnostic, Log, RankStack, RankVerdict, Verdict)
_MOST_EVENTS = 2000
_GIVE_UP_SECONDS = 0.3
"""How long a cancelled request may take to say what it has cost."""
_NO_PROPOSAL = "there is no proposal yet: p asks for one"
_LOADING = "asked; the request is sent when the process that asks models has loaded, which takes some seconds"


class ModelControl:
    """The model of one desk. Each wish of the pane is one method; what keeps it from being done is said in the pane."""

    def __init__(self, app: Workbench, desk: Desk, make: ClientMaker) -> None:
        self._app, self._desk, self._make = app, desk, make
        self._settings = app.settings
        self._client: Client | None = None
        self._pair: Pair | None = None
        self._request: asyncio.Task[ProposalFinished] | None = None
        self._agent = AgentLoop(desk.target, app.settings, desk.stream)
        self._screen: ProposalScreen | None = None
        self._own: tuple[int, str] = (0, "")
        """Number and digest of the newest attempt at the user's own file."""
        self._own_events: deque[Event] = deque(maxlen=_MOST_EVENTS)
        llm = app.settings.llm
        self._change(Conversation(model=llm.model, budget_usd=llm.budget_usd))
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
        if self._screen is not None and self._screen.is_mounted:
            self._screen.show_worth(self.talk.worth(self._screen.text))

    async def close(self) -> None:
        """End requests, the agent loop and the process; what was said stays in the store."""
        await self._agent.stop()
        await self._drop_request()
        pair, self._pair = self._pair, None
        client, self._client = self._client, None
        if pair is not None:
            await pair.close()
        if client is not None:
            await client.close()

    # -- asking

    async def _open(self, _text: str) -> None:
        """The process that asks models starts, in the background."""
        self._asked().warm()

    async def _propose(self, remark: str) -> None:
        if self._agent.running:
            self._steer(remark)
            return
        if self.busy:
            raise UsageError("a reply is on its way: c cancels it")
        self._request = asyncio.create_task(self._ask(remark))
        await asyncio.wait({self._request})
        if not self._request.cancelled():
            self._say(self._request.result())

    def _steer(self, remark: str) -> None:
        if not remark:
            raise UsageError("the agent loop proposes by itself: m steers it with a remark, L stops it")
        self._agent.steer(remark)
        self._app.tell("the model is told with the next request", "information")

    async def _ask(self, remark: str) -> ProposalFinished:
        self._asked().warm()
        self._note("" if self.talk.process == "ready" else _LOADING)
        pair = await self._paired()
        text = self._desk.editor_pane.editor.text
        return await pair.propose(text, self._own_verdict(pair, text), remark)

    def _say(self, came: ProposalFinished) -> None:
        """What came, for people who look elsewhere."""
        if came.outcome == "code":
            self._app.tell(
                f"proposal #{came.proposal} is here: in the model pane d shows it, t tries it", "information"
            )
        elif came.outcome != "cancelled":
            self._app.tell(f"no proposal: {came.reason}", "warning")

    async def _cancel(self, _text: str) -> None:
        if self._agent.running:
            await self._stop_agent()
        elif self.busy:
            await self._drop_request()
        else:
            raise UsageError("no reply is on its way: p asks for a proposal")

    async def _drop_request(self) -> None:
        """End the request; the process says what it has cost, if it can do so at once."""
        request = self._request
        if request is None or request.done():
            return
        if self.talk.streaming and self._client is not None:
            self._client.cancel()
            await asyncio.wait({request}, timeout=_GIVE_UP_SECONDS)
        request.cancel()
        await asyncio.wait({request})
        self._note("")

    async def _anew(self, _text: str) -> None:
        """Another conversation: the model forgets this one."""
        if self.busy:
            raise UsageError("a reply is on its way: c cancels it")
        pair, self._pair = self._pair, None
        if pair is not None:
            await pair.close()
        talk = self.talk
        empty = Conversation(model=talk.model, budget_usd=talk.budget_usd, process=talk.process)
        self._change(empty)

    def _asked(self) -> Client:
        if self._client is None:
            self._client = self._make(self._settings.llm, self._desk.stream)
        return self._client

    async def _paired(self) -> Pair:
        if self._pair is None:
            from workbench.llm.pair import Pair

            bench = await self._desk.runs.bench()
            target, stream = self._desk.target, self._desk.stream
            self._pair = Pair(target, self._settings, stream, self._asked(), bench.solves())
        return self._pair

    # -- proposals

    def _needed(self) -> Exchange:
        one = self.talk.proposal
        if one is None or not one.code:
            raise UsageError(_NO_PROPOSAL)
        return one

    async def _try(self, text: str) -> None:
        """Judge the proposal, or what the user made of it; the editor is not touched."""
        from sessions.model import Proposed

        one = self._needed()
        code = text or one.code
        tried = self.talk.worth(code)
        if tried is not None and tried.verdict is None:
            raise UsageError("it is being judged already")
        kept = self._pair.kept.get(one.number) if self._pair is not None else None
        own = kept is not None and code == one.code
        bench = await self._desk.runs.bench()
        judging = bench.judging(self._desk.stream)
        proposed = Proposed(one.model, kept.id) if kept is not None and own else None
        verdict, collected = await judging.judge(make_source(self._desk.target.path, code), proposed)
        if self._pair is not None and own:
            await self._pair.tried(one.number, code, verdict, collected)

    async def _diff(self, _text: str) -> None:
        await self._look(editing=False)

    async def _edit(self, _text: str) -> None:
        await self._look(editing=True)

    async def _look(self, *, editing: bool) -> None:
        """Show the proposal beside the text, and do what the user decides."""
        from widgets.screens.proposal import ProposalScreen

        one, present = self._needed(), self._desk.editor_pane.editor.text
        name = f"Proposal #{one.number} of {one.model}"
        self._screen = ProposalScreen(name, _in_ends(one.code, present), present, editing=editing)
        self._app.call_later(self.show)
        try:
            decided: Decided | None = await self._app.push_screen_wait(self._screen)
        finally:
            self._screen = None
        if decided is not None:
            await self._follow(one, decided, present)

    async def _follow(self, one: Exchange, decided: Decided, present: str) -> None:
        if decided.what == "accept":
            await self._take(one, decided.text, "accepted" if decided.whole else "accepted in part", present)
        elif decided.what == "reject":
            await self._refuse(one)
        else:
            await self._propose(decided.text)

    async def _accept(self, _text: str) -> None:
        one, present = self._needed(), self._desk.editor_pane.editor.text
        await self._take(one, _in_ends(one.code, present), "accepted", present)

    async def _take(self, one: Exchange, text: str, decision: Decision, present: str) -> None:
        """The editor becomes ``text``, in one step of its history; unless it does not hold what the user saw."""
        editor = self._desk.editor_pane.editor
        if editor.text != present:
            raise UsageError("your text has changed meanwhile: look at the proposal again")
        editor.history.checkpoint()
        editor.merge_text(text)
        editor.history.checkpoint()
        self._decide(one, decision, text)
        await self._app.arrangement.go("editor")
        self._app.tell(
            f"proposal #{one.number} is in the editor, not saved: save judges it, undo takes it back", "information"
        )

    async def _reject(self, _text: str) -> None:
        await self._refuse(self._needed())

    async def _refuse(self, one: Exchange) -> None:
        self._decide(one, "rejected", "")
        self._app.tell(f"proposal #{one.number} is rejected; m asks again with a remark", "information")

    def _decide(self, one: Exchange, decision: Decision, text: str) -> None:
        self._change(self.talk.decided(one.number, decision))
        if self._pair is not None:
            self._pair.decided(one.number, decision, text if text == one.code else "")

    async def _earlier(self, _text: str) -> None:
        self._change(self.talk.stepped(-1))

    async def _later(self, _text: str) -> None:
        self._change(self.talk.stepped(1))

    async def _worth(self, _text: str) -> None:
        self.show()

    # -- the agent loop

    async def _toggle_agent(self, _text: str) -> None:
        if self._agent.running:
            await self._stop_agent()
            return
        if self.busy:
            raise UsageError("a reply is on its way: c cancels it")
        ended = self.talk.ended
        stopped = ended.run if ended is not None and ended.ending in ("stopped", "trouble") else ""
        self._change(replace(self.talk, agent="running", ended=None, step=None, note=""))
        try:
            self._asked().warm()
            bench = await self._desk.runs.bench()
            whole = await self._agent.run(self._asked(), bench, self._desk.editor_pane.editor.text, stopped)
        finally:
            self._change(replace(self.talk, agent=""))
        if whole and (last := self.talk.ended) is not None:
            self._app.tell(f"the agent loop ended: {last.reason}; d shows its best proposal", "information")

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


def _in_ends(code: str, present: str) -> str:
    """The code with the line ends of the user's text."""
    from widgets.line_ends import newline

    ends = newline(present)
    return code if ends == "\n" else code.replace("\r\n", "\n").replace("\n", ends)
