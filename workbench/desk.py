"""What is on screen for one problem: its panes, its working file, its runs, and the events between them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.containers import Horizontal, Vertical
from textual.widget import Widget

from widgets.editor_pane import EditorPane
from widgets.frame import PaneStrip
from widgets.stages import StageLine
from widgets.state import RunView
from widgets.topline import TopLine
from workbench import panes
from workbench.bindings import WorkbenchEditor
from workbench.config import Settings
from workbench.controllers.runs import RunControl, RunnerMaker
from workbench.controllers.work_file import FileControl, Tell
from workbench.events import EventStream
from workbench.target import Target

if TYPE_CHECKING:
    from workbench.controllers.model import ModelControl


class Desk:
    """One problem being worked on; another problem gets another desk, with a stream of events of its own."""

    def __init__(
        self, target: Target, settings: Settings, text: str, stream: EventStream, maker: RunnerMaker | None, tell: Tell
    ) -> None:
        self.target, self.stream = target, stream
        self.view = RunView()
        self.panes: dict[str, Widget] = {}
        """Panes by name, as far as they have been made."""
        self.on_change: Callable[[], None] = lambda: None
        """Called when there is something new to show."""
        self.editor_pane = EditorPane(target.path, text, blink=False, editor=WorkbenchEditor)
        self._top, self._stages = TopLine(target), StageLine()
        self._bottom = panes.bottom(target, self._made)
        self.runs = RunControl(target, settings, stream, maker)
        self.files = FileControl(target, self.editor_pane, self.runs, tell)
        self.model: ModelControl
        """The language model, set by the app."""
        self.begun = asyncio.Event()
        """Set when everything has been started that :meth:`close` ends."""

    def body(self) -> Vertical:
        """The panes, arranged: only what is seen at once is made."""
        left, right = panes.left(self.target, self._made), panes.right(self.target, self._made)
        main = Horizontal(_framed(left), _framed(self.editor_pane), right, id="main")
        return Vertical(self._top, PaneStrip(id="strip"), main, self._stages, _framed(self._bottom), id="body")

    @property
    def complete(self) -> bool:
        """Whether all panes made so far are on screen."""
        return all(widget.is_mounted for widget in self._shown)

    def show(self) -> None:
        """Bring the newest state into the panes."""
        for widget in self._shown:
            if widget.is_mounted and widget.is_attached and hasattr(widget, "show_view"):
                widget.show_view(self.view)
        panes.badges(self._bottom, self.view)

    @property
    def _shown(self) -> tuple[Widget, ...]:
        return (self._top, self._stages, self.editor_pane, *self.panes.values())

    async def close(self) -> None:
        """End the model's work, stop the watcher and end the ranks; safe to call twice."""
        try:
            await self.model.close()
        finally:
            await self.files.close()
            await self.runs.close()

    def _made(self, name: str, pane: Widget) -> None:
        self.panes[name] = pane
        self.on_change()


def _framed(region: Widget) -> Widget:
    return region.add_class("frame", "region")
