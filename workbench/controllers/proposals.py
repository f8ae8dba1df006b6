"""What the user does with a proposal: look at it, try it, edit it, accept it whole or in part, reject it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from widgets.conversation import Conversation, Decision, Exchange
from widgets.line_ends import newline
from workbench.errors import UsageError
from workbench.source import make_source

if TYPE_CHECKING:
    from sessions.model import Proposed
    from widgets.screens.proposal import Decided, ProposalScreen
    from workbench.app import Workbench
    from workbench.desk import Desk
    from workbench.events import Verdict
    from workbench.llm.feedback import Collected
    from workbench.llm.pair import Pair
    from workbench.target import Source


class Proposals:
    """The proposals of one desk. Wishes that cannot be done raise UsageError, in words for the pane.

    ``again`` asks the model once more, with a remark; ``id_of`` gives a proposal's id in the session store by its
    number, None where it is not kept; ``pair`` is set while there is a conversation.
    """

    def __init__(
        self, app: Workbench, desk: Desk, again: Callable[[str], Awaitable[None]], id_of: Callable[[int], int | None]
    ) -> None:
        self._app, self._desk, self._again, self._id_of = app, desk, again, id_of
        self._screen: ProposalScreen | None = None
        self._looked_at: Exchange | None = None
        """The proposal in the dialog; another one may be chosen by a reply that comes meanwhile."""
        self._trials: dict[str, asyncio.Task[tuple[Verdict, Collected]]] = {}
        """What is judged, or waits for it, by the digests of the texts."""
        self._taken: dict[str, tuple[Proposed, str]] = {}
        """Digests of texts that came into the editor from proposals: which, and whether they were edited."""
        self.pair: Pair | None = None

    @property
    def _talk(self) -> Conversation:
        return self._desk.view.talk

    def _needed(self) -> Exchange:
        one = self._looked_at or self._talk.proposal
        if one is None or not one.code:
            raise UsageError("there is no proposal yet: p asks for one")
        return one

    def show(self) -> None:
        """Bring the newest verdict into the dialog, if it is open."""
        if self._screen is not None and self._screen.is_mounted:
            self._screen.show_worth(self._talk.worth(plain_ends(self._screen.text)))

    async def look(self, *, editing: bool = False) -> None:
        """Show the proposal beside the text, and do what the user decides."""
        from widgets.screens.proposal import ProposalScreen

        if self._screen is not None:
            return  # a key that was pressed twice
        one, present = self._needed(), self._desk.editor_pane.editor.text
        name = f"Proposal #{one.number} of {one.model}"
        self._screen = ProposalScreen(name, in_ends(one.code, present), present, editing=editing)
        self._looked_at = one
        self._app.call_later(self.show)
        try:
            decided: Decided | None = await self._app.push_screen_wait(self._screen)
        finally:
            self._screen = self._looked_at = None
        if decided is not None:
            await self._follow(one, decided, present)

    async def _follow(self, one: Exchange, decided: Decided, present: str) -> None:
        if decided.what == "accept":
            await self._take(one, decided.text, _decision(one, decided), present)
        elif decided.what == "reject":
            self._refuse(one)
        else:
            await self._again(decided.text)

    async def judge(self, text: str) -> None:
        """Judge the proposal, or ``text``, what the user made of it; the editor is not touched."""
        one = self._needed()
        code = plain_ends(text) or one.code
        source = self._source(code)
        if source.digest in self._trials:
            raise UsageError("it is being judged already")
        if self._desk.runs.busy:
            self._app.tell("it is judged when the attempt that runs is over", "information")
        proposed, note = self._proposed(one, code)
        if note:
            self._change(self._talk.edited(one.number, code))
        task = self._trials[source.digest] = asyncio.ensure_future(self._judged(source, proposed, note))
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
            del self._trials[source.digest]
        if task.cancelled():
            return
        verdict, collected = task.result()
        if self.pair is not None:
            await self.pair.tried(one.number, code, verdict, collected, edited=bool(note))

    async def _judged(self, source: Source, proposed: Proposed | None, note: str) -> tuple[Verdict, Collected]:
        bench = await self._desk.runs.bench()
        return await bench.judging(self._desk.stream).judge(source, proposed, note)

    def _proposed(self, one: Exchange, code: str) -> tuple[Proposed | None, str]:
        """As what a text that came from a proposal is kept: as that proposal, with a note where it is not the same."""
        from sessions.model import Proposed
        from sessions.rows import EDITED

        found = self._id_of(one.number)
        return (None if found is None else Proposed(one.model, found)), ("" if code == one.code else EDITED)

    def proposed(self, source: Source) -> tuple[Proposed | None, str]:
        """As what the user's file is kept: as the proposal that it is, where it was accepted."""
        return self._taken.get(self._source(source.text).digest, (None, ""))

    def _source(self, text: str) -> Source:
        return make_source(self._desk.target.path, plain_ends(text))

    async def stop_trials(self) -> bool:
        """End everything that is being tried, or waits for it; False where nothing is."""
        running = self._talk.tried[-1:]
        for task in self._trials.values():
            task.cancel()
        if not self._trials:
            return False
        if running and running[0].verdict is None:
            self._desk.runs.cancel()
        return True

    async def close(self) -> None:
        """Nothing is tried any more."""
        tasks = tuple(self._trials.values())
        await self.stop_trials()
        if tasks:
            await asyncio.wait(tasks)

    async def accept(self) -> None:
        """The editor becomes the proposal."""
        one, present = self._needed(), self._desk.editor_pane.editor.text
        await self._take(one, in_ends(one.code, present), "accepted", present)

    async def _take(self, one: Exchange, text: str, decision: Decision, present: str) -> None:
        """The editor becomes ``text``, in one step of its history; unless it does not hold what the user saw."""
        editor = self._desk.editor_pane.editor
        if editor.text != present:
            raise UsageError("your text has changed meanwhile: look at the proposal again")
        if (proposed := self._proposed(one, plain_ends(text)))[0] is not None:
            self._taken[self._source(text).digest] = (proposed[0], proposed[1])
        editor.history.checkpoint()
        editor.merge_text(text)
        editor.history.checkpoint()
        self._decide(one, decision, text)
        await self._app.arrangement.go("editor")
        words = "is in the editor, not saved: save judges it, undo takes it back"
        if text == present:
            words = "is what the editor holds already"
        self._app.tell(f"proposal #{one.number} {words}", "information")

    def reject(self) -> None:
        """The proposal is not wanted."""
        self._refuse(self._needed())

    def _refuse(self, one: Exchange) -> None:
        self._decide(one, "rejected", "")
        self._app.tell(f"proposal #{one.number} is rejected; m asks again with a remark", "information")

    def _decide(self, one: Exchange, decision: Decision, text: str) -> None:
        self._change(self._talk.decided(one.number, decision))
        if self.pair is not None:
            self.pair.decided(one.number, decision, text if plain_ends(text) == one.code else "")

    def step(self, step: int) -> None:
        """Choose an earlier or later proposal."""
        self._change(self._talk.stepped(step))

    def _change(self, talk: Conversation) -> None:
        self._desk.view = replace(self._desk.view, talk=talk)
        self._desk.on_change()


def _decision(one: Exchange, decided: Decided) -> Decision:
    if not decided.whole:
        return "accepted in part"
    return "accepted" if plain_ends(decided.text) == one.code else "edited and accepted"


def plain_ends(text: str) -> str:
    """The text with newlines at its lines' ends, as proposals have them."""
    return text.replace("\r\n", "\n")


def in_ends(code: str, present: str) -> str:
    """The code with the line ends of the user's text."""
    ends = newline(present)
    return code if ends == "\n" else code.replace("\r\n", "\n").replace("\n", ends)
