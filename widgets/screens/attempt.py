"""An earlier attempt: what became of it, its source, its diff against the present text; restore and copy."""

from __future__ import annotations

import time
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widgets import Static

from sessions.model import Attempt
from widgets.plain import plain, visible
from widgets.screens.dialog import Dialog
from widgets.screens.question import Difference, diff_view, legend


class AttemptScreen(Dialog[str]):
    """Ends with ``restore``, ``copy`` or an empty string."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss('')", "Back", id="attempt.back"),
        Binding("r", "dismiss('restore')", "Restore", id="attempt.restore"),
        Binding("y", "dismiss('copy')", "Copy", id="attempt.copy"),
        Binding("d", "switch", "Diff or source", id="attempt.switch"),
        Binding("down,j", "scroll(1)", "Down", id="attempt.down"),
        Binding("up,k", "scroll(-1)", "Up", id="attempt.up"),
        Binding("pagedown,space,ctrl+d", "scroll(15)", "Page down", id="attempt.page_down"),
        Binding("pageup,ctrl+u", "scroll(-15)", "Page up", id="attempt.page_up"),
        Binding("g", "scroll(-1000000)", "Top", id="attempt.top"),
        Binding("G", "scroll(1000000)", "End", id="attempt.end"),
    ]

    def __init__(self, attempt: Attempt, name: str, source: str, present: str) -> None:
        super().__init__()
        self._attempt = attempt
        self._called = name
        self._source = source
        self._present = present
        self._diff = source != present

    def compose(self) -> ComposeResult:
        """What became of it, then the code."""
        with Vertical(classes="dialog -tall") as box:
            box.border_title = Content(self._called.capitalize())
            box.border_subtitle = "r restores  d diff or source  y copies  escape closes"
            yield Static(Content(summary(self._attempt)), id="attempt-summary")
            yield VerticalScroll(classes="body", id="attempt-body")

    async def on_mount(self) -> None:
        """Show the diff, or the source where there is none."""
        await self._fill()

    async def action_switch(self) -> None:
        """From diff to source and back."""
        self._diff = not self._diff
        await self._fill()

    def action_scroll(self, step: int) -> None:
        """Scroll by lines."""
        self.query_one("#attempt-body").scroll_relative(y=step, animate=False)

    async def _fill(self) -> None:
        body = self.query_one("#attempt-body")
        await body.remove_children()
        if self._diff and self._source == self._present:
            await body.mount(Static("The same text as in the editor now.", id="attempt-same"))
        elif self._diff:
            difference = Difference(self._source, self._present, self._called, "the editor now")
            await body.mount(Static(legend(difference)), diff_view(difference))
        else:
            await body.mount(Static(_coloured(self._source), id="attempt-source"))


def _coloured(source: str) -> Content:
    from textual.highlight import highlight

    return highlight(visible(source), language="python")


def summary(attempt: Attempt) -> str:
    """Two lines on what became of an attempt and under which conditions."""
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(attempt.started))
    speed = f" · {attempt.speedup.median:.2f}x" if attempt.speedup is not None else ""
    reason = f" · {plain(attempt.reason)}" if attempt.reason else ""
    note = f" · {plain(attempt.note)}" if attempt.note else ""
    conditions = f"{attempt.world} {attempt.device} ranks · {attempt.size} {attempt.dtype} · {attempt.backend}"
    return f"{attempt.status}{speed}{reason}{note}\n{when} · {conditions}"
