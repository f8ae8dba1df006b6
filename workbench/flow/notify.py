"""The operating system's own notice of saves, through watchdog; imported only when a watch starts."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING

from watchdog.events import (
    FileClosedEvent,
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

LINUX = sys.platform == "linux"
_KINDS: list[type[FileSystemEvent]] = [FileClosedEvent, FileMovedEvent, FileCreatedEvent, FileModifiedEvent]
_WHOLE = (FileClosedEvent, FileMovedEvent) if LINUX else tuple(_KINDS)
"""Events after which a file is complete. Only Linux tells when a writer closed it."""
_PAIRING = (
    ("watchdog.observers.inotify_move_event_grouper", "InotifyMoveEventGrouper"),
    ("watchdog.observers.inotify_buffer", "InotifyBuffer"),
)
"""Where watchdog 7 and watchdog 6 pair the halves of a rename."""


class Notifier:
    """Watches the folders of some paths; ``on_event(whole)`` is called in a thread of watchdog for each event."""

    def __init__(self, places: Collection[Path], on_event: Callable[[bool], None]) -> None:
        self.places = frozenset(places)
        self._handler = _Handler({str(place) for place in places}, on_event)
        self._folders = {place.parent for place in places}
        self._identity = _identity(self._folders)
        self._observer = _make_observer()

    def start(self) -> None:
        """Begin; raises ``OSError`` when a folder is missing or the system's limit of watches is reached."""
        try:
            for folder in self._folders:
                self._observer.schedule(self._handler, str(folder), event_filter=_KINDS)
            self._observer.start()
        except BaseException:
            self.stop()
            raise

    def alive(self) -> bool:
        """Whether the folders that are watched still are the ones at their paths."""
        emitters = self._observer.emitters
        watching = bool(emitters) and all(emitter.is_alive() for emitter in emitters)
        return watching and self._identity == _identity(self._folders)

    def stop(self) -> None:
        """End; no thread and no descriptor is left."""
        self._observer.stop()
        if self._observer.is_alive():
            self._observer.join()


class _Handler(FileSystemEventHandler):
    def __init__(self, names: set[str], on_event: Callable[[bool], None]) -> None:
        self._names = names
        self._on_event = on_event

    def on_any_event(self, event: FileSystemEvent) -> None:
        moved = isinstance(event, FileMovedEvent)
        path = event.dest_path if moved else event.src_path
        if os.fsdecode(path) in self._names:
            self._on_event(isinstance(event, _WHOLE))


def _make_observer() -> BaseObserver:
    if not LINUX:
        from watchdog.observers import Observer

        return Observer()
    from watchdog.observers.inotify import InotifyObserver

    _report_renames_at_once()
    return InotifyObserver(generate_full_events=True)


def _report_renames_at_once() -> None:
    """watchdog holds half a rename back for 0.5 s to pair it with its other half; for a save the new name is enough."""
    for module, name in _PAIRING:
        with contextlib.suppress(ImportError):
            getattr(importlib.import_module(module), name).delay = 0.0


def _identity(folders: Collection[Path]) -> dict[Path, tuple[int, int]]:
    found = {}
    for folder in folders:
        with contextlib.suppress(OSError):
            status = folder.stat()
            found[folder] = (status.st_dev, status.st_ino)
    return found
