"""The watching thread of :mod:`workbench.flow.watch`: holds the system's watch and looks at the file by itself."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from workbench.config import WatchSettings
from workbench.files import network_filesystem

if TYPE_CHECKING:
    from workbench.flow.notify import Notifier

STEADY = 0.02
"""Seconds between two looks that must agree before a change found by looking counts as finished."""

GONE = 1.0
"""Seconds that a file must be missing for to be called gone; editors that delete before they write are faster."""

SHORTEST = 0.05
"""Seconds between looks at least, whatever the settings say."""

Signature = tuple[int, int, int]
Mode = Literal["notify", "poll"]


class Listener(Protocol):
    """Who is told; everything but ``post`` is called in the event loop, by way of ``post``."""

    def post(self, function: Callable[..., None], *arguments: Any) -> None: ...
    def start_from(self, signature: Signature | None) -> None: ...
    def noticed(self, whole: bool) -> None: ...
    def looked(self, signature: Signature) -> None: ...
    def watched(self, mode: Mode, reason: str, gone: bool) -> None: ...


class Lookout(threading.Thread):
    """Holds the system's watch, and looks at the file by itself: the only way when polling, a safety net otherwise.

    A thread of its own, since a look at a network file system may block for minutes.
    """

    def __init__(self, path: Path, settings: WatchSettings, listener: Listener) -> None:
        super().__init__(name="pkwb-watch", daemon=True)
        self._path = path
        self._settings = settings
        self._listener = listener
        self._notifier: Notifier | None = None
        self._said: tuple[Mode, str, bool] | None = None
        self._last: Signature | None = None
        self._missed = 0.0
        self._end = threading.Event()
        loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = loop.create_future()
        self._done: asyncio.Future[None] = loop.create_future()
        self._poll = ""

    async def finish(self) -> None:
        """End the thread; one that hangs in a dead network file system is left behind after 2 s."""
        self._end.set()
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(asyncio.shield(self._done), 2.0)
            self.join(1.0)

    def run(self) -> None:
        """Watch until the end; the first look comes right after the watch is set up."""
        self._poll = self._reason_to_poll()
        self._last = signature_of(self._path)
        self._listener.post(self._listener.start_from, self._last)
        self._watch()
        self._listener.post(_resolve, self.ready)
        while not self._end.is_set():
            self._look()
            self._end.wait(max(self._settings.interval, SHORTEST))
            self._watch()
        self._drop()
        self._listener.post(_resolve, self._done)

    def _reason_to_poll(self) -> str:
        if self._settings.mode == "poll":
            return "chosen in the settings"
        kind = network_filesystem(self._path.parent) if self._settings.mode == "auto" else ""
        return f"{kind} is a network file system" if kind else ""

    def _watch(self) -> None:
        """Set up the system's watch, or set it up again where the folder or a link was replaced."""
        if self._notifier is not None and self._notifier.alive() and self._notifier.places == places_of(self._path):
            return
        self._drop()
        reason = self._poll or self._notify()
        self._say("poll" if reason else "notify", reason)

    def _notify(self) -> str:
        """Start the system's watch; the reason why it cannot be, or nothing."""
        try:
            from workbench.flow.notify import Notifier

            notifier = Notifier(places_of(self._path), lambda whole: self._listener.post(self._listener.noticed, whole))
            notifier.start()
        except (FileNotFoundError, NotADirectoryError):
            return "the folder is gone; looking for it"
        except Exception as error:
            self._poll = f"the system refuses to watch: {error.strerror if isinstance(error, OSError) else error}"
            return self._poll
        self._notifier = notifier
        return ""

    def _drop(self) -> None:
        if self._notifier is not None:
            self._notifier.stop()
            self._notifier = None

    def _say(self, mode: Mode, reason: str, gone: bool = False) -> None:
        if (mode, reason, gone) != self._said:
            self._said = (mode, reason, gone)
            self._listener.post(self._listener.watched, mode, reason, gone)

    def _look(self) -> None:
        signature = self._steady()
        self._miss(signature is None and self._last is not None and signature_of(self._path) is None)
        if signature is not None and signature != self._last:
            self._last = signature
            self._listener.post(self._listener.looked, signature)

    def _miss(self, missing: bool) -> None:
        """Say when a file that was there is gone for good, and when it is back."""
        now = time.monotonic()
        self._missed = (self._missed or now) if missing else 0.0
        if self._said is not None:
            mode, reason, _ = self._said
            self._say(mode, reason, missing and now - self._missed >= GONE)

    def _steady(self) -> Signature | None:
        """The file's signature once two looks agree; None while it is gone or a writer is at work for long."""
        before = signature_of(self._path)
        for _ in range(10):
            if before is None or before == self._last or self._end.wait(STEADY):
                return before
            now = signature_of(self._path)
            if now == before:
                return now
            before = now
        return None


def signature_of(path: Path) -> Signature | None:
    """Time of change, size and inode; None where there is no file."""
    with contextlib.suppress(OSError):
        # Opening makes NFS ask the server; a bare stat may be answered from a cache that is seconds old.
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def places_of(path: Path) -> frozenset[Path]:
    """Where a save can happen: at the path itself, and at the end of its symbolic links."""
    return frozenset({Path(os.path.realpath(path.parent)) / path.name, Path(os.path.realpath(path))})


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
