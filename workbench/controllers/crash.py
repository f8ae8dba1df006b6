"""Errors of pkwb itself: a report in the state folder and a line on screen, while the app goes on."""

from __future__ import annotations

import contextlib
import time
import traceback
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from textual.app import App
from textual.message import Message
from textual.widget import Widget

_MANY = 12
_WITHIN_SECONDS = 5.0


class CrashReports:
    """Writes reports, and tells when errors come so fast that going on would be pointless."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=_MANY)

    def write(self, error: BaseException) -> Path | None:
        """Append the traceback to today's report; None where the state folder cannot be written."""
        from workbench.files import state_dir

        self._times.append(time.monotonic())
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        path = state_dir() / "crashes" / f"{time.strftime('%Y-%m-%d')}.txt"
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(f"--- {time.strftime('%H:%M:%S')}\n{text}\n")
            return path
        return None

    @property
    def flooding(self) -> bool:
        """Whether a dozen errors came within a few seconds."""
        return len(self._times) == _MANY and self._times[-1] - self._times[0] < _WITHIN_SECONDS


class Surviving(App[int]):
    """Mixin for an app: an error in a handler, a timer or in drawing is reported and the app goes on.

    Textual ends the message loop of the widget that made the error, and with it the app; so errors are caught where
    messages are dispatched (Textual's private ``_dispatch_message``).
    """

    def __init__(self, *args: Any, survive: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.reports = CrashReports()
        self._survive = survive
        self.settled = False
        """Whether the first screen is up; errors before that end the app."""

    def tell(self, text: str, severity: str) -> None:
        """Show a message to the user."""
        raise NotImplementedError

    def before_crash(self) -> None:
        """Called when the app cannot go on, to save what can be saved."""

    def report(self, error: BaseException) -> None:
        """Write a crash report and say so."""
        path = self.reports.write(error)
        where = f"; the report is in {path}" if path else ""
        self.tell(f"pkwb made an error ({type(error).__name__}: {str(error)[:80]}) and goes on{where}", "error")

    def _handle_exception(self, error: Exception) -> None:
        if self._survive and self.settled and not self.reports.flooding:
            self.report(error)
            return
        self.reports.write(error)
        self.before_crash()
        super()._handle_exception(error)

    def _start_widget(self, parent: Widget, widget: Widget) -> None:
        if self._survive:
            widget._dispatch_message = self._guarded(widget._dispatch_message)  # type: ignore[method-assign, assignment]
        super()._start_widget(parent, widget)

    async def _dispatch_message(self, message: Message) -> None:
        dispatch = super()._dispatch_message
        await (self._guarded(dispatch) if self._survive and self.settled else dispatch)(message)

    def _guarded(self, dispatch: Callable[[Message], Awaitable[None]]) -> Callable[[Message], Any]:
        async def guarded(message: Message) -> None:
            try:
                await dispatch(message)
            except Exception as error:
                self._handle_exception(error)

        return guarded
