"""Built libraries by content address. Entries are folders that appear whole, by rename; there is no lock to go stale.

An entry holds its file and ``manifest.json`` with the file's size and SHA-256, and those of the user's headers that
went into it. Whatever does not match is no entry. Folders named ``job-...`` are where builds work; a build holds a file
lock in its folder, which the system drops with the process: what a killed build left can be told and removed.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import math
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MANIFEST = "manifest.json"
_LOCK = ".lock"
_KEY = re.compile(r"[0-9a-f]{64}")
_PART = 1 << 20
_IN_USE_S = 60.0
"""An entry that was used this lately is not removed: a rank may be about to load it."""


@dataclass(frozen=True)
class Entry:
    """One built file. ``facts`` is what its maker noted."""

    key: str
    file: Path
    size: int
    used: float
    """Seconds since the epoch."""
    facts: dict[str, Any]

    @property
    def name(self) -> str:
        """The module's name, or the file's where it is no module."""
        return str(self.facts.get("name") or self.file.name)

    @property
    def made_by(self) -> str:
        """The build that made it."""
        return str(self.facts.get("made_by", ""))


class Cache:
    """The entries below one folder, kept under ``limit`` bytes; any number of processes may share it."""

    def __init__(self, folder: Path, limit: int) -> None:
        self.folder = folder
        self.limit = limit

    @contextlib.contextmanager
    def workplace(self) -> Iterator[Path]:
        """A fresh folder to build in, on the file system of the entries; it is gone afterwards."""
        self.folder.mkdir(parents=True, exist_ok=True)
        place = self.folder / f"job-{secrets.token_hex(8)}"
        place.mkdir(mode=0o700)
        lock = os.open(place / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield place
        finally:
            os.close(lock)
            shutil.rmtree(place, ignore_errors=True)

    def find(self, key: str) -> Entry | None:
        """The whole and unchanged entry, and note that it was used; a damaged one makes room for another."""
        there = self._identity(key)
        if there is None:
            return None
        entry = self._whole(key)
        if entry is None or not _unchanged(entry.facts.get("headers")):
            if self._identity(key) == there:  # not one that another process has put there since
                self.remove(key)
            return None
        with contextlib.suppress(OSError):
            os.utime(self.folder / key)
        return entry

    def publish(
        self, key: str, built: Path, facts: dict[str, Any], headers: Sequence[Path] = (), since: float = math.inf
    ) -> Entry | None:
        """Make a built file the entry, unless another process was faster: then its entry stands.

        A header that was written after ``since`` (seconds since the epoch, the begin of the build) may be another than
        the one that was compiled: such an entry serves once. None when it cannot be kept.
        """
        with self.workplace() as place:
            whole = place / "entry"
            whole.mkdir()
            file = whole / built.name
            os.replace(built, file)
            file.chmod(0o444)
            noted = {**facts, "file": file.name, "size": file.stat().st_size, "sha256": _sha256(file)}
            noted["headers"] = [_header(path, since) for path in headers]
            (whole / _MANIFEST).write_text(json.dumps(noted), encoding="utf-8")
            if self.find(key) is None:
                with contextlib.suppress(OSError):  # another process was faster
                    os.rename(whole, self.folder / key)
        self.prune()
        return self._whole(key)

    def entries(self) -> list[Entry]:
        """All entries, the least lately used first; their content is not looked at."""
        found = map(self._read, self._keys())
        return sorted((entry for entry in found if entry is not None), key=lambda entry: entry.used)

    def remove(self, key: str) -> None:
        """Take an entry away at once, by rename; one that a rank has loaded stays loaded."""
        with contextlib.suppress(OSError), self.workplace() as place:
            os.rename(self.folder / key, place / "old")

    def clear(self) -> int:
        """Remove all entries, damaged ones too, and what killed builds left; the bytes that were freed."""
        entries = self.entries()
        for key in self._keys():
            self.remove(key)
        self.sweep()
        left = set(self._keys())
        return sum(entry.size for entry in entries if entry.key not in left)

    def prune(self) -> None:
        """Remove the least lately used entries until the limit is kept, but none that is in use."""
        entries = self.entries()
        total = sum(entry.size for entry in entries)
        for entry in entries:
            if total <= self.limit:
                return
            if _is_new(entry.used):
                continue
            self.remove(entry.key)
            total -= entry.size

    def sweep(self) -> None:
        """Remove the folders of builds that were killed."""
        for place in self.folder.glob("job-*"):
            with contextlib.suppress(OSError):
                if _is_new(place.stat().st_ctime):
                    continue  # its builder may not have got to its lock yet
                with open(place / _LOCK, "rb") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    shutil.rmtree(place, ignore_errors=True)

    def _identity(self, key: str) -> tuple[int, int] | None:
        try:
            facts = os.lstat(self.folder / key)
        except OSError:
            return None
        return facts.st_ino, facts.st_ctime_ns

    def _keys(self) -> list[str]:
        names = os.listdir(self.folder) if self.folder.is_dir() else []
        return [name for name in names if _KEY.fullmatch(name)]

    def _whole(self, key: str) -> Entry | None:
        """The entry with the content that was built."""
        entry = self._read(key)
        return entry if entry is not None and _sha256(entry.file) == entry.facts.get("sha256") else None

    def _read(self, key: str) -> Entry | None:
        folder = self.folder / key
        try:
            facts = json.loads((folder / _MANIFEST).read_bytes())
            file = folder / Path(facts["file"]).name
            size = file.stat().st_size
            used = folder.stat().st_mtime
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return Entry(key, file, size, used, facts) if size == facts.get("size") else None


def _is_new(moment: float) -> bool:
    """Whether it was a moment ago; a moment to come is that of a clock that was set back since."""
    return 0 <= time.time() - moment < _IN_USE_S


def _sha256(file: Path) -> str:
    """The digest of a file; empty where there is none, or a pipe or device in its place, which reading could block."""
    digest = hashlib.sha256()
    try:
        if not file.is_file():
            return ""
        with file.open("rb") as opened:
            while part := opened.read(_PART):
                digest.update(part)
    except OSError:
        return ""
    return digest.hexdigest()


def _header(path: Path, since: float) -> list[str]:
    try:
        facts = path.stat()
    except OSError:
        return [str(path), ""]
    return [str(path), "" if max(facts.st_mtime, facts.st_ctime) >= since else _sha256(path)]


def _unchanged(headers: Any) -> bool:
    try:
        return all(digest and _sha256(Path(path)) == digest for path, digest in headers)
    except (TypeError, ValueError):
        return False
