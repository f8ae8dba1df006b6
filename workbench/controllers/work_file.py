"""The working file: the file on disk is the buffer, the pane shows it, and neither ever loses text."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from workbench.errors import SourceError, UsageError
from workbench.events import EventStream, WatchChanged
from workbench.source import make_source, read_source
from workbench.target import Source, Target

if TYPE_CHECKING:
    from sessions.recovery import Recovered
    from widgets.editor_pane import EditorPane
    from workbench.config import Settings
    from workbench.controllers.runs import RunControl
    from workbench.flow.watch import FileWatcher

AUTOSAVE_SECONDS = 1.0
Tell = Callable[[str, str], None]
"""Shows a message: text, and severity (information, warning, error)."""


class FileControl:
    """Saves, reloads, keeps unsaved text, and turns changes on disk into runs."""

    def __init__(self, target: Target, pane: EditorPane, runs: RunControl, tell: Tell) -> None:
        from sessions.recovery import Recovery

        self._target, self._pane, self._runs, self._tell = target, pane, runs, tell
        self._recovery = Recovery(target.path)
        self._turn = asyncio.Lock()
        self._digest = ""
        self._own = ""
        self._watcher: FileWatcher | None = None
        self._trouble = ""
        self._kept = False
        self._offered: Recovered | None = None
        self._closed = False

    async def watch(self, settings: Settings, stream: EventStream, changed: Callable[[], None]) -> None:
        """Watch the file from now on; ``changed`` is called in the event loop."""
        from workbench.flow.watch import FileWatcher

        def watched(event: WatchChanged) -> None:
            stream.emit(event)
            if event.gone:
                self._tell(self._missing("is gone"), "warning")

        watcher = FileWatcher(self._target.path, settings.watch, changed, watched)
        await watcher.start()
        if self._closed:
            await watcher.stop()
        else:
            self._watcher = watcher

    async def close(self) -> None:
        """Stop watching; text that was offered and not decided on is offered again at the next start."""
        self._closed = True
        self.put_back()
        if self._watcher is not None:
            await self._watcher.stop()
            self._watcher = None

    async def newer(self) -> Source | None:
        """What is on disk, if another program wrote it since the pane last saw the file."""
        try:
            source = await asyncio.to_thread(read_source, self._target.path, True)
        except SourceError:
            return None
        return source if source.digest != self._digest and source.text != self._pane.editor.text else None

    async def save(self) -> bool:
        """Write the pane's text, then judge it; False if it could not be written."""
        async with self._turn:
            text = self._pane.editor.text
            there = await asyncio.to_thread(os.path.lexists, self._target.path)
            try:
                from workbench.files import write_atomic

                await asyncio.to_thread(write_atomic, self._target.path, text)
            except UsageError as error:
                self._kept = await asyncio.to_thread(self._recovery.write, text)
                kept = (
                    "the text is kept for recovery"
                    if self._kept
                    else "the text is in this pane alone, not kept for recovery"
                )
                self._tell(f"{error}. The file is as it was; {kept}.", "error")
                return False
            digest = make_source(self._target.path, text).digest
            if not self._pane.dirty and self._runs.judged(digest):
                said = "the text is unchanged" if there else "the file is there again"
                self._tell(f"{said}; it is judged once more", "information")
            self._pane.set_saved(text, time.time())
            self._digest = self._own = digest
            source = await self._read()
            if source is not None:
                self._runs.submit(source, "pane")
            if not self._pane.dirty:
                await self._forget()
            return True

    async def run_again(self) -> None:
        """Judge the file as it is on disk."""
        async with self._turn:
            source = await self._read()
            if source is not None:
                self._runs.submit(source, "manual")
                self._take(source)

    async def run_first(self) -> None:
        """Judge the file as it was found at the start."""
        with contextlib.suppress(SourceError):
            self._digest = (await asyncio.to_thread(read_source, self._target.path, True)).digest
        source = await self._read()
        if source is not None:
            self._runs.submit(source, "start")

    async def changed(self) -> Source | None:
        """The file on disk changed: run and show it; the source comes back where the pane holds other text."""
        async with self._turn:
            source = await self._read()
            if source is None:
                return None
            if source.digest == self._digest:
                self._same(source)
                return None
            self._digest = source.digest
            self._runs.submit(source, "disk")
            return None if self._take(source) else source

    def _same(self, source: Source) -> None:
        """Say that a save changed nothing, unless it is the echo of the pane's own save."""
        if self._own != source.digest:
            self._runs.seen(source)
        self._own = ""

    def _take(self, source: Source) -> bool:
        """Show the source in the pane; False if the pane holds text of its own."""
        self._digest = source.digest
        if self._pane.dirty and self._pane.editor.text != source.text:
            return False
        if self._pane.editor.text != source.text:
            self._pane.take_disk(source.text, time.time())
        else:
            self._pane.set_saved(self._pane.editor.text, time.time())
        return True

    def keep_mine(self, source: Source) -> None:
        """The pane's text stays, unsaved, against the file's new content."""
        self._digest = source.digest
        self._pane.set_saved(source.text)

    async def take_disk(self) -> None:
        """The file's content replaces the pane's text."""
        source = await self._read()
        if source is not None:
            self._digest = source.digest
            self._pane.take_disk(source.text, time.time())
            await self._forget()

    async def keep_unsaved(self) -> bool:
        """Write unsaved text into the recovery file, or clear it where all is saved; False if it could not be kept."""
        text = self._pane.editor.text
        if self._pane.dirty:
            self._kept = await asyncio.to_thread(self._recovery.write, text)
            self._say_once(self._recovery.trouble)
        elif self._kept:
            await self._forget()
        return self._kept or not self._pane.dirty

    def keep_unsaved_now(self) -> None:
        """The same, at once and blocking: for the moment when pkwb is told to end."""
        if self._pane.dirty:
            self._recovery.write(self._pane.editor.text)

    async def recovered(self) -> Recovered | None:
        """Unsaved text that an earlier pkwb left behind; offered once."""
        self._offered = await asyncio.to_thread(self._recovery.take)
        return self._offered

    def restore(self, recovered: Recovered) -> None:
        """Put recovered text into the editor, unsaved."""
        self._offered = None
        self._pane.editor.merge_text(recovered.text)

    def put_back(self) -> None:
        """The user has not decided on the recovered text: it is offered again at the next start."""
        if self._offered is not None:
            with contextlib.suppress(OSError):
                os.replace(self._offered.kept_at, self._offered.kept_at.with_suffix(".json"))
            self._offered = None

    async def give_up(self) -> None:
        """Neither recovered nor unsaved text is wanted any more."""
        self._offered = None
        self._pane.set_saved(self._pane.editor.text)
        await self._forget()

    async def _forget(self) -> None:
        self._kept = False
        await asyncio.to_thread(self._recovery.clear)

    async def read(self) -> Source | None:
        """What is on disk now."""
        return await self._read()

    async def _read(self) -> Source | None:
        try:
            source = await asyncio.to_thread(read_source, self._target.path)
        except SourceError as error:
            there = await asyncio.to_thread(os.path.lexists, self._target.path)
            self._say_once(str(error) if there else self._missing("does not exist"))
            return None
        self._trouble = ""
        return source

    def _missing(self, how: str) -> str:
        return f"{self._target.path} {how}: saving writes the text of the editor there"

    def _say_once(self, trouble: str) -> None:
        if trouble and trouble != self._trouble:
            self._trouble = trouble
            self._tell(trouble, "warning")
