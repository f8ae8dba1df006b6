"""Reading the working file."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from workbench.errors import SourceError
from workbench.target import Source

MAX_BYTES = 4_000_000


def read_source(path: Path, allow_empty: bool = False) -> Source:
    """The file's present content; SourceError says what is wrong with a file that cannot be judged.

    ``allow_empty`` is for editing: nothing can be judged in an empty file, but it can be written in.
    """
    data = _read_bytes(path)
    text = _decode(path, data)
    if not text.strip() and not allow_empty:
        raise SourceError(f"{path} is empty: it must define solution(...)")
    return make_source(path, text, data)


def make_source(path: Path, text: str, data: bytes | None = None) -> Source:
    """A source from text that may not be on disk yet; ``data`` are its bytes where they are known already."""
    content = text.encode("utf-8") if data is None else data
    return Source(path=Path(os.path.abspath(path)), text=text, digest=hashlib.sha256(content).hexdigest())


def _read_bytes(path: Path) -> bytes:
    try:
        _check_kind(path, os.stat(path).st_mode)
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise SourceError(f"{path} does not exist: check the name, or let `pkwb open` create it") from None
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(data) > MAX_BYTES:
        raise SourceError(f"{path} is larger than {MAX_BYTES // 1_000_000} MB: a kernel's source is expected here")
    return data


def _check_kind(path: Path, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise SourceError(f"{path} is a folder: name the Python file in it")
    if not stat.S_ISREG(mode):
        raise SourceError(f"{path} is not a regular file: name a Python file")


def _decode(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(
            f"{path}:{line} is not UTF-8 (byte 0x{data[error.start]:02x}): save the file as UTF-8"
        ) from None
