"""A small app around one pane, and what a user reads of it."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult
from textual.widget import Widget

from widgets.messages import AttemptChosen, CopyRequested, JumpTo, RankChosen
from widgets.reading import ReadingPane

NARROW, WIDE = (40, 24), (100, 30)
SIZES = (NARROW, WIDE)


class Host(App[None]):
    """Shows one widget and keeps the messages that it sends."""

    def __init__(self, widget: Widget) -> None:
        super().__init__()
        self.widget = widget
        self.said: list[object] = []

    def compose(self) -> ComposeResult:
        """The widget alone."""
        yield self.widget

    def on_mount(self) -> None:
        """Keys go to it."""
        self.widget.focus()

    def on_rank_chosen(self, message: RankChosen) -> None:
        """Keep it."""
        self.said.append(message.rank)

    def on_attempt_chosen(self, message: AttemptChosen) -> None:
        """Keep it."""
        self.said.append(message.attempt_id)

    def on_jump_to(self, message: JumpTo) -> None:
        """Keep it."""
        self.said.append((message.line, message.column))

    def on_copy_requested(self, message: CopyRequested) -> None:
        """Keep it."""
        self.said.append(message.text)


def watch_paint(pane: ReadingPane, patch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of the lines that are painted again from now on."""
    painted: list[int] = []
    patch.setattr(pane.lines, "refresh_line", painted.append)
    return painted


def visible(pane: ReadingPane) -> str:
    """What is in sight of a pane, line by line, without blanks at the ends."""
    lines = pane.lines
    return "\n".join(lines.render_line(row).text.rstrip() for row in range(lines.size.height)).rstrip()


def flowing(pane: ReadingPane) -> str:
    """All of a pane's text with every run of blanks and line breaks as one blank, so that wrapping does not matter."""
    return " ".join(" ".join(pane.lines.texts).split())
