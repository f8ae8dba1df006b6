"""What the user does with a proposal: look at it, try it, edit it, accept it whole or in part, reject it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from widgets.conversation import Conversation, Decision, Exchange
from widgets.line_ends import newline
from workbench.errors import UsageError
from workbench.source import make_source

if TYPE_CHECKING:
    from widgets.screens.proposal import Decided, ProposalScreen
    from workbench.app import Workbench
    from workbench.desk import Desk
    from workbench.llm.pair import Pair


class Proposals:
    """The proposals of one desk. Wishes that cannot be done raise UsageError, in words for the pane.

    ``again`` asks the model once more, with a remark; ``pair`` is set while there is a conversation.
    """

    def __init__(self, app: Workbench, desk: Desk, again: Callable[[str], Awaitable[None]]) -> None:
        self._app, self._desk, self._again = app, desk, again
        self._screen: ProposalScreen | None = None
        self._trying: set[str] = set()
        """Digests of texts that are judged, or wait for it."""
        self.pair: Pair | None = None

    @property
    def _talk(self) -> Conversation:
        return self._desk.view.talk

    def _needed(self) -> Exchange:
        one = self._talk.proposal
        if one is None or not one.code:
            raise UsageError("there is no proposal yet: p asks for one")
        return one

    def show(self) -> None:
        """Bring the newest verdict into the dialog, if it is open."""
        if self._screen is not None and self._screen.is_mounted:
            self._screen.show_worth(self._talk.worth(self._screen.text))

    async def look(self, *, editing: bool = False) -> None:
        """Show the proposal beside the text, and do what the user decides."""
        from widgets.screens.proposal import ProposalScreen

        one, present = self._needed(), self._desk.editor_pane.editor.text
        name = f"Proposal #{one.number} of {one.model}"
        self._screen = ProposalScreen(name, in_ends(one.code, present), present, editing=editing)
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
            self._refuse(one)
        else:
            await self._again(decided.text)

    async def judge(self, text: str) -> None:
        """Judge the proposal, or ``text``, what the user made of it; the editor is not touched."""
        from sessions.model import Proposed

        one = self._needed()
        code = text or one.code
        source = make_source(self._desk.target.path, code)
        if source.digest in self._trying:
            raise UsageError("it is being judged already")
        if self._desk.runs.busy:
            self._app.tell("it is judged when the attempt that runs is over", "information")
        kept = self.pair.kept.get(one.number) if self.pair is not None and code == one.code else None
        proposed = Proposed(one.model, kept.id) if kept is not None else None
        bench = await self._desk.runs.bench()
        self._trying.add(source.digest)
        try:
            verdict, collected = await bench.judging(self._desk.stream).judge(source, proposed)
        finally:
            self._trying.discard(source.digest)
        if self.pair is not None and kept is not None:
            await self.pair.tried(one.number, code, verdict, collected)

    async def accept(self) -> None:
        """The editor becomes the proposal."""
        one, present = self._needed(), self._desk.editor_pane.editor.text
        await self._take(one, in_ends(one.code, present), "accepted", present)

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
        words = f"proposal #{one.number} is in the editor, not saved: save judges it, undo takes it back"
        self._app.tell(words, "information")

    def reject(self) -> None:
        """The proposal is not wanted."""
        self._refuse(self._needed())

    def _refuse(self, one: Exchange) -> None:
        self._decide(one, "rejected", "")
        self._app.tell(f"proposal #{one.number} is rejected; m asks again with a remark", "information")

    def _decide(self, one: Exchange, decision: Decision, text: str) -> None:
        self._change(self._talk.decided(one.number, decision))
        if self.pair is not None:
            self.pair.decided(one.number, decision, text if text == one.code else "")

    def step(self, step: int) -> None:
        """Choose an earlier or later proposal."""
        self._change(self._talk.stepped(step))

    def _change(self, talk: Conversation) -> None:
        self._desk.view = replace(self._desk.view, talk=talk)
        self._desk.on_change()


def in_ends(code: str, present: str) -> str:
    """The code with the line ends of the user's text."""
    ends = newline(present)
    return code if ends == "\n" else code.replace("\r\n", "\n").replace("\n", ends)
