"""Saves as editors do them: each way that a text gets into a file."""

from __future__ import annotations

import os
from pathlib import Path


def by_rename(path: Path, text: str) -> None:
    """A new file takes the old one's place."""
    new = path.with_suffix(".new")
    new.write_text(text)
    os.replace(new, path)


def in_place(path: Path, text: str) -> None:
    """The same file is written anew."""
    path.write_text(text)


def with_backup(path: Path, text: str) -> None:
    """The old file becomes a backup, and a new one is made."""
    os.replace(path, path.with_name(f"{path.name}~"))
    path.write_text(text)


def in_pieces(path: Path, text: str) -> None:
    """The file is emptied, then written line by line."""
    with open(path, "w", encoding="utf-8", buffering=1) as file:
        file.writelines(text.splitlines(keepends=True))
