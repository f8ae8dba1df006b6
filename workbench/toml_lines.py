"""Finding a key's line in TOML text, for messages: tomli gives values without their places."""

from __future__ import annotations

import re
from collections.abc import Iterator

Key = tuple[str, ...]

_HEADER = re.compile(r"^\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(?:#.*)?$")
_ENTRY = re.compile(r"""^\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")


def line_of(text: str, key: Key) -> int:
    """Line, from 1, that defines the key, or the nearest table or inline table around it; 0 if none is found."""
    best_length, best_line = 0, 0
    for line, defined in _definitions(text):
        if defined == key:
            return line
        shared = len(defined) if key[: len(defined)] == defined else 0
        if shared > best_length:
            best_length, best_line = shared, line
        elif defined[: len(key)] == key and best_length < len(key):
            best_length, best_line = len(key), line
    return best_line


def _definitions(text: str) -> Iterator[tuple[int, Key]]:
    table: Key = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header, entry = _HEADER.match(line), _ENTRY.match(line)
        if header:
            table = _parts(header.group(1))
            yield number, table
        elif entry:
            yield number, table + _parts(entry.group(1))


def _parts(dotted: str) -> Key:
    return tuple(part.strip("\"'") for part in _PART.findall(dotted))
