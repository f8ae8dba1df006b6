"""A proposal beside the present text: try it, accept it whole or hunk by hunk, edit it, reject it, ask again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from widgets.conversation import Tried
from widgets.editor import KernelEditor, movement_bindings
from widgets.exchange import worth_text
from widgets.hunks import hunks, merged
from widgets.messages import ModelAsked
from widgets.remark import RemarkBar
from widgets.screens.dialog import Dialog
from widgets.screens.question import Difference, diff_view, legend

Mode = Literal["whole", "hunk", "edit"]
_KEYS = {
    "whole": "t try  a accept  h hunk by hunk  e edit  x reject  m again with a remark  escape back",
    "hunk": "y take this hunk  n leave it  a take it and all after it  escape back to the whole",
    "edit": "escape ends editing",
}


@dataclass(frozen=True)
class Decided:
    """The user's word: ``accept`` with the text that the editor becomes, ``reject``, or ``remark`` with its words."""

    what: Literal["accept", "reject", "remark"]
    text: str = ""
    whole: bool = True


class ProposalEditor(KernelEditor):
    """The proposal's text while it is edited."""

    BINDINGS: ClassVar[list[BindingType]] = movement_bindings({"escape"})


class ProposalScreen(Dialog[Decided | None]):
    """Ends with what the user decided, or with None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "back", "Back", id="proposal.back"),
        Binding("t", "try", "Try", id="proposal.try"),
        Binding("a", "accept", "Accept", id="proposal.accept"),
        Binding("h", "hunks", "Hunk by hunk", id="proposal.hunks"),
        Binding("y", "hunk(1)", "Take the hunk", id="proposal.take"),
        Binding("n", "hunk(0)", "Leave the hunk", id="proposal.leave"),
        Binding("x", "reject", "Reject", id="proposal.reject"),
        Binding("e", "edit", "Edit", id="proposal.edit"),
        Binding("m", "remark", "Again with a remark", id="proposal.remark"),
        Binding("down,j", "scroll(1)", "Down", id="proposal.down"),
        Binding("up,k", "scroll(-1)", "Up", id="proposal.up"),
        Binding("pagedown,space,ctrl+d", "scroll(15)", "Page down", id="proposal.page_down"),
        Binding("pageup,ctrl+u", "scroll(-15)", "Page up", id="proposal.page_up"),
        Binding("g", "scroll(-1000000)", "Top", id="proposal.top"),
        Binding("G", "scroll(1000000)", "End", id="proposal.end"),
    ]
    DEFAULT_CSS = """
    ProposalScreen ProposalEditor { height: 1fr; border: none; padding: 0; }
    """

    def __init__(self, name: str, proposal: str, present: str, *, editing: bool = False) -> None:
        super().__init__()
        self._called = name
        self._proposal, self._present = proposal, present
        self._first_mode: Mode = "edit" if editing else "whole"
        self._mode: Mode = "whole"
        self._hunk = 0
        self._taken: set[int] = set()
        self._edited = False
        self._worth: Tried | None = None
        self._head = Static(id="proposal-head")

    @property
    def text(self) -> str:
        """The proposal, as it was edited."""
        return self._proposal

    def compose(self) -> ComposeResult:
        """What it is worth, then the texts."""
        with Vertical(classes="dialog -tall -wide", id="proposal-box"):
            yield self._head
            yield VerticalScroll(classes="body", id="proposal-body")
            yield RemarkBar()

    async def on_mount(self) -> None:
        """Show the diff, or the text to be edited."""
        self.query_one("#proposal-box").border_title = Content(self._called)
        await self._show(self._first_mode)

    def show_worth(self, tried: Tried | None) -> None:
        """Show how the text, as it is now, was judged."""
        if tried != self._worth:
            self._worth = tried
            self._show_head()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Letters belong to the text while it is edited, and to the hunk while hunks are decided on."""
        if any(bar.display for bar in self.query(RemarkBar)):
            return False
        allowed = {"edit": {"back"}, "hunk": {"back", "accept", "hunk", "scroll"}}.get(self._mode)
        return action != "hunk" if allowed is None else action in allowed

    async def action_back(self) -> None:
        """One step back: from hunks or editing to the whole, from there to the panes."""
        if self._mode == "whole":
            self.dismiss(None)
            return
        if self._mode == "edit":
            text = self.query_one(ProposalEditor).text
            self._edited, self._proposal = self._edited or text != self._proposal, text
            self._worth = None
            self.post_message(ModelAsked("worth"))
        await self._show("whole")

    def action_try(self) -> None:
        """Judge it; the editor's text is not touched."""
        self.post_message(ModelAsked("try", self._proposal))

    async def action_accept(self) -> None:
        """The editor becomes the proposal, or takes this hunk and all after it."""
        if self._mode == "hunk":
            self._taken |= set(range(self._hunk, len(hunks(self._present, self._proposal))))
            self._accept_taken()
        else:
            self.dismiss(Decided("accept", self._proposal))

    async def action_hunks(self) -> None:
        """Decide on one hunk after the other."""
        if hunks(self._present, self._proposal):
            self._hunk, self._taken = 0, set()
            await self._show("hunk")

    async def action_hunk(self, take: int) -> None:
        """Take or leave the hunk that is shown; after the last one, accept what was taken."""
        if take:
            self._taken.add(self._hunk)
        self._hunk += 1
        if self._hunk < len(hunks(self._present, self._proposal)):
            await self._show("hunk")
        elif self._taken:
            self._accept_taken()
        else:
            await self._show("whole")

    def _accept_taken(self) -> None:
        found = hunks(self._present, self._proposal)
        whole = len(self._taken) == len(found)
        self.dismiss(Decided("accept", merged(self._present, found, self._taken), whole))

    def action_reject(self) -> None:
        """The proposal is not wanted."""
        self.dismiss(Decided("reject"))

    async def action_edit(self) -> None:
        """Edit the proposal; the editor's own text stays as it is."""
        await self._show("edit")

    def action_remark(self) -> None:
        """Ask what the model should do differently."""
        self.query_one(RemarkBar).ask()

    def on_remark_bar_given(self, event: RemarkBar.Given) -> None:
        """Ask again."""
        event.stop()
        if event.text:
            self.dismiss(Decided("remark", event.text))
        else:
            self.query_one("#proposal-body").focus()

    def action_scroll(self, step: int) -> None:
        """Scroll by lines."""
        self.query_one("#proposal-body").scroll_relative(y=step, animate=False)

    async def _show(self, mode: Mode) -> None:
        self._mode = mode
        body = self.query_one("#proposal-body")
        with self.app.batch_update():
            await body.remove_children()
            await body.mount(*self._parts())
        self.query_one("#proposal-box").border_subtitle = _KEYS[mode]
        self._show_head()
        (self.query_one(ProposalEditor) if mode == "edit" else body).focus()

    def _parts(self) -> list[Widget]:
        if self._mode == "edit":
            return [ProposalEditor(self._proposal, id="proposal-editor")]
        if self._present == self._proposal:
            return [Static("The same text as in the editor now.", id="proposal-same")]
        after = self._proposal
        if self._mode == "hunk":
            after = merged(self._present, hunks(self._present, self._proposal), {self._hunk})
        difference = Difference(self._present, after, "your text", "the proposal")
        return [Static(legend(difference)), diff_view(difference)]

    def _show_head(self) -> None:
        words = worth_text(self._worth) + Content("  edited by you" if self._edited else "")
        if self._mode == "hunk":
            found = hunks(self._present, self._proposal)
            place = f"hunk {self._hunk + 1} of {len(found)}, {found[self._hunk].place}; {len(self._taken)} taken"
            words = Content.styled(place, "bold") + Content("   ") + words
        self._head.update(words)
