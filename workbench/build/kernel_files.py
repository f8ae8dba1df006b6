"""Raw kernels that ranks compiled and keep: files of ``utils.kernels``, a line of JSON before the machine code."""

from __future__ import annotations

import contextlib
import json
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path

from workbench.build.cache import Entry

_KEY = re.compile(r"[0-9a-f]{64}")
_HEAD_BYTES = 1 << 16
_WRITING_S = 60.0
"""A file without its name yet may still be written to for so long."""


def kernel_files(folder: Path) -> list[Entry]:
    """The kernels that are kept, the least lately used first."""
    found = [entry for path in _files(folder) if _KEY.fullmatch(path.name) and (entry := _entry(path))]
    return sorted(found, key=lambda entry: entry.used)


def clear_kernel_files(folder: Path) -> int:
    """Remove them and what ranks that were killed left half written; the bytes that were freed."""
    freed = 0
    for path in _files(folder):
        with contextlib.suppress(OSError):
            facts = path.lstat()
            if _KEY.fullmatch(path.name) or not 0 <= time.time() - facts.st_mtime < _WRITING_S:
                path.unlink()
                freed += facts.st_size
    return freed


def _files(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        yield from (folder / name for name in os.listdir(folder))


def _entry(path: Path) -> Entry | None:
    """None for what is gone or no plain file."""
    try:
        facts = path.lstat()
        return Entry(path.name, path, facts.st_size, facts.st_mtime, {"name": _name(path), "made_by": "NVRTC"})
    except OSError:
        return None


def _name(path: Path) -> str:
    """The kernel's name in the object."""
    with contextlib.suppress(ValueError, KeyError, TypeError), open(path, "rb") as file:
        return str(json.loads(file.readline(_HEAD_BYTES))["entry"])
    return "(damaged)"
