"""Sees every save of one file, from any editor, in place or by rename, and says how it looks for them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.config import WatchSettings
from workbench.events import WatchChanged
from workbench.flow.lookout import Lookout, Mode, Signature, signature_of

DEBOUNCE = 0.005
"""Seconds of silence after a finished save until it is reported."""
SETTLE = 0.1
"""The same while a writer may still be at work: created or modified, and not closed."""
LONGEST = 0.5
"""Seconds after which a change is reported although events go on."""


class FileWatcher:
    """Calls ``on_change`` in the event loop after each save of ``path``, once the file is whole.

    It is told of saves, not of contents: a touch or a save of equal content is reported too, and several saves within
    a few ms are reported once. A file that vanishes is reported when it is back. ``on_mode`` hears how the file is
    watched, at the start and after every change: by the system's notices, or by polling on network file systems, when
    the system's limit of watches is reached, while the folder is gone, or as the settings say.
    Start the watcher first and read the file afterwards: then no save falls between.
    """

    def __init__(
        self,
        path: Path,
        settings: WatchSettings,
        on_change: Callable[[], None],
        on_mode: Callable[[WatchChanged], None],
    ) -> None:
        self._path = Path(os.path.abspath(path))
        self._settings = settings
        self._on_change = on_change
        self._on_mode = on_mode
        self._lookout: Lookout | None = None
        self._seen: Signature | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._deadline = 0.0
        self._sure = False

    async def start(self) -> None:
        """Begin; returns once every later save will be seen."""
        if self._lookout is None:
            self._loop = asyncio.get_running_loop()
            self._lookout = Lookout(self._path, self._settings, self)
            self._lookout.start()
            await self._lookout.ready

    async def stop(self) -> None:
        """End; nothing is called any more and no thread or descriptor is left."""
        lookout, self._lookout = self._lookout, None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if lookout is not None:
            await lookout.finish()

    def post(self, function: Callable[..., None], *arguments: Any) -> None:
        """Run a function in the event loop, from any thread; nothing happens once the loop is closed."""
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(function, *arguments)

    def start_from(self, signature: Signature | None) -> None:
        """Take a state of the file as known."""
        self._seen = signature

    def noticed(self, whole: bool) -> None:
        """The system reported a change; ``whole`` when the writer is done."""
        if self._lookout is None:
            return
        now = self._loop.time()
        if self._timer is None:
            self._deadline, self._sure = now + LONGEST, False
        else:
            self._timer.cancel()
        self._sure = self._sure or whole
        due = min(now + (DEBOUNCE if whole else SETTLE), self._deadline)
        self._timer = self._loop.call_at(due, self._due)

    def looked(self, signature: Signature) -> None:
        """A look found the file changed; a notice that is under way takes care of it by itself."""
        if self._lookout is not None and self._timer is None and signature != self._seen:
            self._seen = signature
            self._on_change()

    def watched(self, mode: Mode, reason: str, gone: bool) -> None:
        """The way of watching changed, or the file is gone, or back."""
        if self._lookout is not None:
            self._on_mode(WatchChanged(mode=mode, path=str(self._path), reason=reason, gone=gone))

    def _due(self) -> None:
        self._timer = None
        signature = signature_of(self._path)
        if signature is None or (signature == self._seen and not self._sure):
            return
        self._seen = signature
        self._on_change()
