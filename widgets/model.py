"""The model pane: what was said with a language model about the open problem, live, and keys for its proposals."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Static

from widgets import format as fmt
from widgets.conversation import Conversation
from widgets.exchange import exchange_lines
from widgets.layout import wrapped
from widgets.messages import ModelAsked
from widgets.plain import plain
from widgets.reading import KEYS_HELP, ReadingPane
from widgets.remark import RemarkBar
from widgets.state import RunView

_PROCESS = {
    "off": "not started",
    "loading": "loading, takes some seconds",
    "ready": "ready",
    "gone": "ended, the next request starts it anew",
}
_WELCOME = "Nothing was asked yet: p asks for a proposal, m asks with a remark, L starts the agent loop, f1 says more."
_KEYS = "f1 help  p propose  m remark  d diff  t try  a accept  x reject  e edit  c cancel  L agent loop"


def _ask(key: str, what: str, title: str) -> Binding:
    return Binding(key, f"ask('{what}')", title, show=False, id=f"model.{what}")


class ModelPane(ReadingPane):
    """Shows the conversation and follows its end unless scrolled away; says to the app what is wanted."""

    HELP = f"""
### Model

A language model as the pair. It gets the problem, this machine's figures, your file where you changed it, and what
became of its proposals. Its code never goes into the editor by itself.

- `p`: propose, or go on with what became of the last proposal; `m`: the same with a remark; `c`: cancel at once
- `d` or `enter`: the proposal beside your text; there also hunk by hunk. `[` `]`: the proposal before, after
- `t`: try it, without touching your text; `a`: accept it into the editor, one undo takes it back; `x`: reject it
- `e`: edit it before you decide
- `L`: start the agent loop, which proposes and judges by itself, or stop it; `space`: pause it, go on; `m`: steer it
- `R`: begin a new conversation, with an empty memory
- `s`: show what was sent, or fold it; `f`: follow the end, or stay here
{KEYS_HELP.lstrip()}"""
    BINDINGS: ClassVar[list[BindingType]] = [
        _ask("p", "propose", "Propose"),
        Binding("m", "remark", "Propose with a remark, or steer the agent loop", show=False, id="model.remark"),
        _ask("c", "cancel", "Cancel the reply, the agent loop or a trial"),
        _ask("d,enter", "diff", "Show the proposal beside the text"),
        _ask("t", "try", "Try the proposal without touching the text"),
        _ask("a", "accept", "Accept the proposal into the editor"),
        _ask("x", "reject", "Reject the proposal"),
        _ask("e", "edit", "Edit the proposal"),
        _ask("left_square_bracket", "earlier", "Proposal before"),
        _ask("right_square_bracket", "later", "Proposal after"),
        _ask("L", "agent", "Start or stop the agent loop"),
        _ask("space", "pause", "Pause the agent loop, go on"),
        _ask("R", "anew", "Begin a new conversation"),
        Binding("s", "unfold", "Show what was sent", show=False, id="model.unfold"),
        Binding("f", "follow", "Follow the end", show=False, id="model.follow"),
    ]
    DEFAULT_CSS = """
    ModelPane #model-state { height: 1; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    def __init__(self) -> None:
        super().__init__()
        self.follow = True
        self._unfolded = False
        self._talk = Conversation()
        self._head = Static(id="model-state", markup=False)

    def compose(self) -> ComposeResult:
        """The state in one line, the conversation below it."""
        yield self._head
        yield self.lines
        yield RemarkBar()

    def on_mount(self) -> None:
        """The process that asks models is wanted from now on."""
        self._head.update(state_text(self._talk))
        self.post_message(ModelAsked("opened"))

    def show_view(self, view: RunView) -> None:
        """Show another view."""
        if view.talk is not self._talk:
            before, self._talk = state_text(self._talk), view.talk
            after = state_text(view.talk)
            if not after.is_same(before):
                self._head.update(after)
            self.relayout()

    def relayout(self, follow: bool = False) -> None:
        """Stay at the end while following it; scrolling up stops that, scrolling back to the end resumes it."""
        super().relayout(self.follow and (follow or self.lines.at_end))

    def build(self, width: int) -> list[Content]:
        """Every exchange; while a reply comes there is room below it, so that not each new line moves all others."""
        talk = self._talk
        lines = [
            line for one in talk.exchanges for line in exchange_lines(talk, one, width, self._unfolded)
        ]  # fmt: skip
        lines += _notes(talk, width)
        lines = lines or [Content.styled(_WELCOME, "dim")]
        step = max(1, self.lines.size.height // 2)
        return lines + [Content()] * (-len(lines) % step if talk.streaming else 0)

    def copied(self) -> tuple[str, str]:
        """The proposal's code where there is one."""
        one = self._talk.proposal
        return (one.code, f"the code of proposal #{one.number}") if one else super().copied()

    def action_ask(self, what: str) -> None:
        """Tell the app what is wanted."""
        self.post_message(ModelAsked(what))

    def action_unfold(self) -> None:
        """Show or fold what was sent."""
        self._unfolded = not self._unfolded
        self.relayout()

    def action_follow(self) -> None:
        """Follow, or stay."""
        self.follow = not self.follow
        self.relayout(follow=True)

    def action_remark(self) -> None:
        """Ask for a remark."""
        self.query_one(RemarkBar).ask()

    def on_remark_bar_given(self, event: RemarkBar.Given) -> None:
        """Pass the remark on."""
        event.stop()
        self.lines.focus()
        if event.text:
            self.post_message(ModelAsked("remark", event.text))


def state_text(talk: Conversation) -> Content:
    """Model, process, agent loop, tokens and cost, in one line; the keys behind them, as far as there is room."""
    parts = [plain(talk.model) or "no model", _PROCESS[talk.process] if talk.model else "set llm.model, or --model"]
    if talk.agent:
        parts.append(_agent_text(talk))
    if talk.tokens:
        budget = f" of ${talk.budget_usd:g}" if talk.budget_usd else ""
        cost = f"${talk.spent_usd:.4f}{budget}" if talk.priced else "price not known, no budget holds"
        parts.append(f"{fmt.count(talk.tokens)} tokens, {cost}")
    words = Content.styled(" · ".join(parts), "bold")
    return words + Content.styled(f"   {_KEYS}", "dim")


def _agent_text(talk: Conversation) -> str:
    step = talk.step
    if step is None:
        return f"agent loop {talk.agent}"
    best = f", best {fmt.speedup(step.best.median)} (proposal {step.best_step})" if step.best else ""
    return f"agent loop {talk.agent}, step {step.step} of {step.steps}{best}"


def _notes(talk: Conversation, width: int) -> list[Content]:
    """How the agent loop ended, and what kept the last request from being made."""
    found: list[Content] = []
    if talk.ended is not None:
        ended = replace(talk.ended, reason=plain(talk.ended.reason))
        best = f"; best {fmt.interval(ended.best)}, proposal {ended.best_step}" if ended.best else ""
        cost = f"${ended.spent_usd:.4f}" if talk.priced else "price not known"
        words = f"── agent loop ended by {ended.ending}: {ended.reason}{best}; {cost}"
        found += wrapped(Content.styled(words, "bold"), width, 3)
    if talk.process == "gone" and talk.detail:
        found += _warning(f"the process that asks models ended: {talk.detail}", width)
    if talk.note:
        found += _warning(talk.note, width)
    return found


def _warning(words: str, width: int) -> list[Content]:
    return wrapped(Content.styled(f"! {plain(words)}", "$text-warning"), width, 2)
