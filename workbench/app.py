"""The app: wires the event stream, the engine, the watcher, the working file and the panes."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import textual.screen
from textual import events
from textual.app import ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Footer, Static, TextArea

from themes import STYLES
from themes.colours import OWN
from widgets.plain import plain_lines
from widgets.rowdiff import RowDiff
from widgets.state import Speed, reduce
from workbench.actions import ACTIONS
from workbench.app_messages import AppMessages
from workbench.bindings import app_bindings, palette_actions
from workbench.config import Settings
from workbench.controllers.asking import Asking, ClientMaker, make_client
from workbench.controllers.crash import Surviving
from workbench.controllers.layout import SMALLEST, LayoutControl
from workbench.controllers.memory import Look, remember, remembered
from workbench.controllers.model import ModelControl
from workbench.controllers.picking import Picking
from workbench.controllers.runs import RunnerMaker
from workbench.controllers.talk import Talk
from workbench.controllers.work_file import AUTOSAVE_SECONDS
from workbench.desk import Desk
from workbench.errors import UsageError
from workbench.events import Event, EventStream, Notice
from workbench.resolve import Opener
from workbench.target import Target

if TYPE_CHECKING:
    from sessions.recovery import Recovered

TARGETS = {action.target.partition("(")[0] for action in ACTIONS} - {"redraw", "interrupt", "quit"}
"""Actions that wait while a dialog is open."""
_LAST_RESORT_SECONDS = 8.0


class _Panes(Screen[None]):
    """The screen below all dialogs; the layout says which pane gets the keys, also when the panes are others."""

    AUTO_FOCUS = ""


class Workbench(AppMessages, Surviving, RowDiff):
    """The terminal workbench: one problem at a time, and the list to choose it from."""

    CSS_PATH = STYLES
    TITLE = "pkwb"
    BINDINGS: ClassVar[list[BindingType]] = app_bindings()
    ENABLE_COMMAND_PALETTE = True
    ESCAPE_TO_MINIMIZE = False

    def __init__(
        self,
        target: Target | None,
        settings: Settings,
        text: str,
        stream: EventStream,
        maker: RunnerMaker | None,
        *,
        opener: Opener | None = None,
        client: ClientMaker = make_client,
        warm: bool = False,
        survive: bool = False,
    ) -> None:
        super().__init__(survive=survive)
        self.settings, self._maker = settings, maker
        self._asking = Asking(client, settings.llm)
        self._warm = warm
        self.opener = opener or Opener(settings)
        self._look = remembered(settings)
        self.arrangement = LayoutControl(self, self._look.results, self._look.hidden)
        self.talk = Talk(self)
        self.picking = Picking(self)
        self._flush_timer: Timer | None = None
        self._unsaved_timer: Timer | None = None
        self._unsubscribe: Callable[[], None] = lambda: None
        if target is not None:
            self._take_desk(target, text, stream)
        for theme in OWN:
            self.register_theme(theme)
        self.theme = self._look.theme
        self.set_keymap(settings.ui.keys)

    def get_default_screen(self) -> Screen[Any]:
        """What the panes are on."""
        return _Panes(id="_default")

    # -- the desk

    def _take_desk(self, target: Target, text: str, stream: EventStream) -> None:
        self._unsubscribe()
        before = self.open_desk.model.talk if self.open_desk is not None else None
        self.open_desk = desk = Desk(target, self.settings, text, stream, self._maker, self.tell)
        desk.model = ModelControl(self, desk, self._asking, before)
        desk.on_change = self._changed
        self._unsubscribe = stream.subscribe(self._on_event)
        self._asking.move(stream)

    async def change_desk(self, target: Target, text: str) -> None:
        """End everything of the problem on screen, if there is one, and open another in its place."""
        if self.open_desk is not None:
            await self.open_desk.begun.wait()
            await self.open_desk.close()
        if self._unsaved_timer is not None:
            self._unsaved_timer.stop()
        base = self.screen_stack[0]
        with self.batch_update():
            self._take_desk(target, text, EventStream())
            await base.query("#body").remove()
            await base.mount(self.desk.body(), before="#tiny")
            self._begin()

    def compose(self) -> ComposeResult:
        """The first screen: only what is seen at once."""
        if self.open_desk is not None:
            yield self.open_desk.body()
        yield Static(id="tiny")
        yield Footer(compact=True, show_command_palette=False)

    def on_mount(self) -> None:
        """Start everything that may take time after the first paint."""
        self._flush_timer = self.set_interval(1 / frames(self.settings), self._show_all)
        self._handle_signals()
        self.settled = True
        self.call_after_refresh(gc.enable)
        if self.open_desk is None:
            self.picking.show()
        else:
            self._begin()
        self.arrangement.on_change = self.keep_look

    def _begin(self) -> None:
        self.arrangement.begin(self.size)
        self._changed()
        self.call_after_refresh(lambda: self.background(self._start(self.desk), "start"))

    async def _start(self, desk: Desk) -> None:
        try:
            recovered = await self._start_desk(desk) if desk.runs.live else None
        finally:
            desk.begun.set()
        if recovered is not None and not self.picking.opening:
            await self.talk.offer_recovered(recovered)

    async def _start_desk(self, desk: Desk) -> Recovered | None:
        recovered = await desk.files.recovered()
        await desk.files.run_first()
        desk.runs.on_history = lambda: self.background(self.show_history(desk), "history")
        self.background(desk.files.watch(self.settings, desk.stream, self._disk_changed), "watch")
        self.background(desk.runs.start(), "runs")
        if self._warm:
            self.background(desk.model.do("opened"), "model")
        return recovered

    def background(self, job: Coroutine[Any, Any, Any], group: str) -> None:
        """Run a coroutine beside the screen; its error is reported, never fatal."""
        self.run_worker(self._reported(job), group=group, exit_on_error=False)

    async def _reported(self, job: Coroutine[Any, Any, Any]) -> None:
        try:
            await job
        except Exception as error:
            self._handle_exception(error)

    # -- events

    def _on_event(self, event: Event) -> None:
        self.desk.view = reduce(self.desk.view, event)
        if isinstance(event, Notice):
            self.call_later(self.tell, event.text, event.severity)
        self._changed()

    def _changed(self) -> None:
        if self._flush_timer is not None:
            self._flush_timer.resume()

    def _show_all(self) -> None:
        """Show the newest state, at most so many times a second."""
        desk = self.open_desk
        if self._flush_timer is not None and (desk is None or desk.complete):
            self._flush_timer.pause()
        if desk is not None:
            desk.show()
            desk.model.show()
            self.arrangement.share_rows()

    def keep_look(self) -> None:
        """What was changed on screen is there again in the next sitting."""
        before, now = self._look, Look(self.theme, self.arrangement.results, self.arrangement.hidden)
        if now != before and self._maker is not None:
            self._look = now
            self.background(_quietly(asyncio.to_thread(remember, before, now)), "look")

    async def show_history(self, desk: Desk) -> None:
        """Read earlier attempts from the store and show them."""
        pane: Any = desk.panes.get("history")
        if pane is not None:
            pane.show_attempts(await desk.runs.attempts(), desk.runs.sitting)
        best = await desk.runs.record()
        if best is not None and best.speedup is not None and best.sitting != desk.runs.sitting:
            desk.view = replace(desk.view, record=Speed(number=best.id, ratio=best.speedup))
            self._changed()

    def _disk_changed(self) -> None:
        self.background(self._after_disk_change(), "disk")

    async def _after_disk_change(self) -> None:
        blocked = await self.files.changed()
        if blocked is not None:
            await self.talk.ask_conflict(blocked)

    def on_text_area_changed(self, _event: TextArea.Changed) -> None:
        """Keep unsaved text a second after the last key."""
        if self._unsaved_timer is not None:
            self._unsaved_timer.stop()
        self._unsaved_timer = self.set_timer(
            AUTOSAVE_SECONDS, lambda: self.background(self.files.keep_unsaved(), "keep")
        )

    def on_resize(self, event: events.Resize) -> None:
        """Fit the layout to the terminal; the same size again means that the terminal was used by another program."""
        self.forget_screen()
        if event.size == self.arrangement.size:
            self.refresh(layout=True)
        self.arrangement.resize(event.size)
        size, least = event.size, SMALLEST
        text = f"The terminal is too small: {size.width}x{size.height}.\npkwb needs {least.width}x{least.height}."
        self.screen_stack[0].query_one("#tiny", Static).update(text)

    # -- words and errors

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While a dialog is open, the keys belong to it."""
        return len(self.screen_stack) == 1 or action not in TARGETS

    def tell(self, text: str, severity: str) -> None:
        """Show a message for a few seconds."""
        seconds = 4 if severity == "information" else 10
        self.notify("\n".join(plain_lines(text)), severity=severity, timeout=seconds, markup=False)  # type: ignore[arg-type]

    def get_system_commands(self, screen: Screen[Any]) -> Any:
        """The palette: the table of actions."""
        for action in palette_actions():
            yield SystemCommand(action.title, action.help, _caller(self, action.target))

    def copy_to_clipboard(self, text: str) -> None:
        """Copy by OSC 52, saying what was done."""
        self.talk.copy(text, "the text")

    def send_to_clipboard(self, text: str) -> None:
        """The bare OSC 52 sequence."""
        super().copy_to_clipboard(text)

    def before_crash(self) -> None:
        """Unsaved text is kept whatever happens."""
        if self.open_desk is not None:
            self.open_desk.files.keep_unsaved_now()

    # -- the end

    def _handle_signals(self) -> None:
        if threading.current_thread() is threading.main_thread() and not self.is_headless:
            for number in (signal.SIGHUP, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, self._told_to_end, number)

    def _told_to_end(self, number: int) -> None:
        """The terminal closed, or somebody ended pkwb: no rank and no text may be left behind."""
        self.before_crash()
        last_resort = threading.Timer(_LAST_RESORT_SECONDS, os._exit, (128 + number,))
        last_resort.daemon = True
        last_resort.start()
        self.background(self._end_by_signal(number), "end")

    async def _end_by_signal(self, number: int) -> None:
        if number != signal.SIGHUP:
            await self.leave(128 + number)
            return
        # Nobody reads the terminal any more: writing to it, even to put it in order, could block for good.
        with self.batch_update():
            await self.shut_down()
            os._exit(128 + number)

    async def leave(self, code: int = 0) -> None:
        """End the ranks and the app."""
        await self.shut_down()
        self.exit(code)

    async def shut_down(self) -> None:
        """Stop the watcher, end the ranks and the process that asks models; safe to call twice."""
        try:
            if self.open_desk is not None:
                await self.open_desk.close()
        finally:
            await self._asking.close()

    async def on_unmount(self) -> None:
        """Nothing runs on after the screen is gone."""
        self._unsubscribe()
        await self.shut_down()


def _caller(app: Workbench, target: str) -> Callable[[], Any]:
    return lambda: app.run_action(target)


async def _quietly(job: Coroutine[Any, Any, None]) -> None:
    """A state folder that cannot be written is told of by the session store."""
    with contextlib.suppress(UsageError):
        await job


def over_ssh() -> bool:
    """Whether the terminal is at the far end of an ssh connection, where each byte counts."""
    return bool(os.environ.get("SSH_CONNECTION") or os.environ.get("SSH_TTY"))


def frames(settings: Settings) -> int:
    """Updates of the screen a second."""
    return settings.ui.fps or (20 if over_ssh() else 60)


def run_app(target: Target | None, settings: Settings, opener: Opener, *, warm: bool = False) -> int:
    """Open the workbench and return the exit code; without a target it begins with the list of problems.

    ``warm`` gets the process that asks models ready in the background.
    """
    from workbench.actions import check_remaps
    from workbench.controllers.runs import make_engine
    from workbench.opening import all_binding_ids, first_text

    if settings.ui.keys:
        check_remaps(settings.ui.keys, all_binding_ids())
    text = first_text(target.path) if target is not None else ""
    app = Workbench(target, settings, text, EventStream(), make_engine, opener=opener, warm=warm, survive=True)
    app.animation_level = "none"
    # Textual reads its frame rate from the environment, when it is imported; this is where it keeps it.
    vars(textual.screen)["UPDATE_PERIOD"] = 1 / frames(settings)
    gc.disable()
    code = app.run(mouse=settings.ui.mouse)
    sys.stdout.flush()
    return code if code is not None else app.return_code or 0
