"""Unsaved text that outlives a crash: one side file each time that a working file is open, in the state folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import socket
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from workbench.errors import SourceError, UsageError
from workbench.files import state_dir, write_atomic
from workbench.source import read_source

_ABANDONED_SECONDS = 86_400.0
"""Age after which unsaved text of another host's process counts as left behind; its pid cannot be looked up here."""


@dataclass(frozen=True, kw_only=True)
class Recovered:
    """Unsaved text that an earlier pkwb left behind."""

    text: str
    when: float
    """Seconds since the epoch."""
    kept_at: Path
    """The side file; after :meth:`Recovery.take` under its new name."""


@dataclass(frozen=True, kw_only=True)
class _Writer:
    """Who wrote a side file. ``born`` tells a process from a later one with the same pid."""

    host: str
    pid: int
    born: str


class Recovery:
    """The unsaved text of one working file. No method raises; ``trouble`` says why text could not be kept."""

    def __init__(self, path: Path, folder: Path | None = None) -> None:
        self._path = Path(os.path.abspath(path))
        self._folder = folder
        self._me = _Writer(host=socket.gethostname(), pid=os.getpid(), born=_born(os.getpid()))
        self._token = secrets.token_hex(3)
        self._taken: Path | None = None
        self.trouble = ""

    def write(self, text: str) -> bool:
        """Keep the text; False, with ``trouble`` set for the user, where that fails."""
        content = {"path": str(self._path), "when": time.time(), "text": text, **asdict(self._me)}
        try:
            self._place().mkdir(parents=True, exist_ok=True)
            write_atomic(self._own_file(), json.dumps(content))
        except (OSError, UsageError) as error:
            self.trouble = (
                f"Unsaved text cannot be kept in {self._place()}: {error}. Save often, or set PKWB_STATE_DIR."
            )
            return False
        self.trouble = ""
        return True

    def clear(self) -> None:
        """Forget the text of this process, and the text it took over: it is saved, or given up."""
        for file in (self._own_file(), self._taken):
            if file is not None:
                with contextlib.suppress(OSError):
                    file.unlink()
        self._taken = None

    def pending(self) -> Recovered | None:
        """The newest text left behind by a process that has ended, where it differs from the file on disk."""
        found = [text for text in map(self._left_behind, self._side_files()) if text is not None]
        newest = max(found, key=lambda text: text.when, default=None)
        return newest if newest is not None and newest.text != self._on_disk() else None

    def take(self) -> Recovered | None:
        """The pending text, to be shown in the editor; offered once only, so that a text cannot bring pkwb down twice.

        Its side file stays under another name until :meth:`clear`.
        """
        pending = self.pending()
        if pending is None:
            return None
        taken = pending.kept_at.with_suffix(".taken")
        try:
            os.replace(pending.kept_at, taken)
        except OSError:
            return None
        self._taken = taken
        return Recovered(text=pending.text, when=pending.when, kept_at=taken)

    def _place(self) -> Path:
        return self._folder if self._folder is not None else state_dir() / "recovery"

    def _key(self) -> str:
        return hashlib.sha256(os.fsencode(self._path)).hexdigest()[:24]

    def _own_file(self) -> Path:
        host = hashlib.sha256(self._me.host.encode()).hexdigest()[:6]
        return self._place() / f"{self._key()}-{host}-{self._me.pid}-{self._token}.json"

    def _side_files(self) -> list[Path]:
        try:
            return sorted(self._place().glob(f"{self._key()}-*.json"))
        except OSError:
            return []

    def _left_behind(self, file: Path) -> Recovered | None:
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            writer = _Writer(host=content["host"], pid=int(content["pid"]), born=content["born"])
            text = Recovered(text=str(content["text"]), when=float(content["when"]), kept_at=file)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return None if self._still_there(writer, text) else text

    def _still_there(self, writer: _Writer, text: Recovered) -> bool:
        if writer.host != self._me.host:
            return time.time() - text.when < _ABANDONED_SECONDS
        if writer == self._me:
            # This process has left the file since: what it kept then is offered like another's.
            return text.kept_at == self._own_file()
        return _born(writer.pid) == writer.born != ""

    def _on_disk(self) -> str | None:
        try:
            return read_source(self._path, allow_empty=True).text
        except SourceError:
            return None


def _born(pid: int) -> str:
    """What tells a running process from others that had its pid; empty if none runs."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return _alive(pid)


def _alive(pid: int) -> str:
    if os.path.exists("/proc/self/stat"):
        return ""
    try:
        os.kill(pid, 0)
    except PermissionError:
        return "alive"
    except OSError:
        return ""
    return "alive"
