"""A question with a few answers, each with its key; optionally with a diff to decide on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from widgets.plain import visible
from widgets.screens.dialog import Dialog

_SIDE_BY_SIDE = 2000
"""Lines of both texts up to which they are shown side by side; above, the screen would stand still for seconds."""


@dataclass(frozen=True)
class Answer:
    """One answer: the key that gives it, its id, its words."""

    key: str
    id: str
    words: str


@dataclass(frozen=True)
class Difference:
    """Two texts to compare, with their names."""

    before: str
    after: str
    before_name: str
    after_name: str


class Question(Dialog[str]):
    """Ends with the id of the answer given; escape gives the last one, which must be the harmless one."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "harmless", "Back", id="question.back"),
        Binding("down,j", "scroll(1)", "Down", id="question.down", show=False),
        Binding("up,k", "scroll(-1)", "Up", id="question.up", show=False),
    ]

    def __init__(self, title: str, text: str, answers: list[Answer], difference: Difference | None = None) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._answers = answers
        self._difference = difference

    def compose(self) -> ComposeResult:
        """Text, the diff if any, the answers."""
        with Vertical(classes="dialog -tall" if self._difference else "dialog") as box:
            box.border_title = Content(self._title)
            yield Static(Content(self._text), id="question-text")
            if self._difference is not None:
                yield Static(legend(self._difference), id="question-legend")
                with VerticalScroll(classes="body", id="question-diff"):
                    yield diff_view(self._difference)
            yield Static(self._choices(), classes="choices")

    def _choices(self) -> Content:
        parts = []
        for answer in self._answers:
            link = f"@click=screen.answer('{answer.id}')"
            parts.append(
                Content.from_markup(f"[{link}][bold reverse] $key [/] $words[/]   ", key=answer.key, words=answer.words)
            )
        return Content("").join(parts)

    def on_key(self, event: events.Key) -> None:
        """Give the answer whose key was pressed."""
        for answer in self._answers:
            if event.key == answer.key:
                event.stop()
                self.dismiss(answer.id)
                return

    def action_answer(self, answer: str) -> None:
        """Give an answer by its id."""
        self.dismiss(answer)

    def action_harmless(self) -> None:
        """Give the last answer."""
        self.dismiss(self._answers[-1].id)

    def action_scroll(self, step: int) -> None:
        """Scroll the diff."""
        for scroll in self.query("#question-diff"):
            scroll.scroll_relative(y=3 * step, animate=False)


def legend(difference: Difference) -> Content:
    """Which side of a diff is which."""
    before, after = f"- {difference.before_name}", f"+ {difference.after_name}"
    return Content.assemble((before, "$text-error"), "   ", (after, "$text-success"))


def diff_view(difference: Difference) -> Widget:
    """The two texts compared, side by side where the screen is wide enough and this Python has a view for that."""
    before, after = visible(difference.before), visible(difference.after)
    if before.count("\n") + after.count("\n") > _SIDE_BY_SIDE:
        return _unified(before, after)
    try:
        from textual_diff_view import DiffView
    except ImportError:
        return _unified(before, after)
    view = DiffView(difference.before_name, difference.after_name, before, after)
    view.set_reactive(DiffView.split, False)
    view.auto_split = True
    view.annotations = True
    found: Widget = view
    return found


def _unified(before: str, after: str) -> Widget:
    from widgets.screens.unified import UnifiedDiff

    return UnifiedDiff(before, after)
