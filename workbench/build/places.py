"""From a place in a unit's text back to line and column of the user's file; nothing where that is not certain."""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
from dataclasses import dataclass

from workbench.build.constants import Text

_ESCAPE = re.compile(r"\\(\r?\n|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|[0-7]{1,3}|.)", re.DOTALL)
_BRACES = re.compile(r"\{\{|\}\}|\{[^{}]*\}")
_SHORTEST = 6
"""Characters that a line must have to be looked for in the file."""


@dataclass(frozen=True)
class Place:
    """Line and column in the user's file from 1; 0 = unknown."""

    line: int = 0
    column: int = 0


def place_of(text: str, written: Text | None, source: str, line: int, column: int) -> Place:
    """Where line and column of a unit's ``text`` stand in ``source``.

    ``written`` says which literals the text is made of. Elsewhere, as in f-strings, a line counts as found where the
    file holds exactly one line like it.
    """
    lines = text.split("\n")
    if not 0 < line <= len(lines):
        return Place()
    column = column if column <= len(lines[line - 1]) + 1 else 0
    start = sum(len(before) + 1 for before in lines[: line - 1])
    wanted = start + max(0, column - 1)
    found = _written_place(written, source, wanted if column else _first_sign(text, start)) if written else Place()
    if found.line:
        return found if column else Place(found.line)
    return _only_place(lines[line - 1], source)


def _first_sign(text: str, start: int) -> int:
    """The first character of a line that is no blank: a literal may begin in the middle of the line."""
    end = text.find("\n", start)
    rest = text[start : end if end >= 0 else len(text)]
    return start + len(rest) - len(rest.lstrip())


def _only_place(line: str, source: str) -> Place:
    bare = line.strip()
    if len(bare) < _SHORTEST:
        return Place()
    others = [other.strip() for other in source.split("\n")]
    found = [number for number, other in enumerate(others, 1) if other == bare]
    found = found or [number for number, other in enumerate(others, 1) if _is_made_of(bare, other)]
    return Place(found[0]) if len(found) == 1 else Place()


def _is_made_of(line: str, written: str) -> bool:
    """Whether a line of an f-string comes out as this line, whatever stands in its braces."""
    if "{" not in written and "}" not in written:
        return False
    pieces, end = [""], 0
    for brace in _BRACES.finditer(written):
        pieces[-1] += written[end : brace.start()]
        end = brace.end()
        if brace[0] in ("{{", "}}"):
            pieces[-1] += brace[0][0]
        else:
            pieces.append("")
    pieces[-1] += written[end:]
    return len("".join(pieces)) >= _SHORTEST and _holds(line, pieces)


def _holds(line: str, pieces: list[str]) -> bool:
    """Whether the pieces stand in the line in this order, the first at its begin and the last at its end."""
    if len(pieces) == 1:
        return line == pieces[0]
    first, *inner, last = pieces
    at = len(first)
    for piece in inner:
        found = line.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return line.startswith(first) and line.endswith(last) and at <= len(line) - len(last)


def _written_place(written: Text, source: str, offset: int) -> Place:
    for part, node in written.parts:
        if offset < len(part) or (offset == len(part) and written.parts[-1][0] is part):
            places = literal_places(node, source) if node is not None else []
            return places[offset] if offset < len(places) else Place()
        offset -= len(part)
    return Place()


@functools.lru_cache(maxsize=16)
def literal_places(node: ast.Constant, source: str) -> list[Place]:
    """Where each character of a literal's value is written, and the place behind the last; empty if that is unknown."""
    source = source.replace("\r\n", "\n")
    segment = ast.get_source_segment(source, node)
    if segment is None:
        return []
    column = len(source.split("\n")[node.lineno - 1].encode()[: node.col_offset].decode(errors="replace"))
    value = ""
    places: list[Place] = []
    end = Place()
    try:
        for token in tokenize.generate_tokens(io.StringIO(f"({segment})").readline):
            if token.type == tokenize.STRING:
                text, found, end = _token_places(token, node.lineno, column)
                value, places = value + text, places + found
    except (tokenize.TokenError, SyntaxError, ValueError):
        return []
    return [*places, end] if value == node.value else []


def _token_places(token: tokenize.TokenInfo, line: int, column: int) -> tuple[str, list[Place], Place]:
    """One literal's value and places; ``line`` and ``column`` are where the first token of the constant begins."""
    prefix = re.match(r"[a-zA-Z]*", token.string)
    raw = prefix is not None and "r" in prefix[0].lower()
    body = token.string[len(prefix[0]) if prefix else 0 :]
    quotes = 3 if body[:3] in ('"""', "'''") else 1
    position = len(token.string) - len(body) + quotes
    row, at = line + token.start[0] - 1, token.start[1] - 1 + column if token.start[0] == 1 else token.start[1]
    walker = _Walker(row, at + position)
    inner = body[quotes:-quotes]
    value, places = walker.walk(inner, raw)
    return value, places, Place(walker.line, walker.column + 1)


class _Walker:
    """Goes through a literal's text character by character."""

    def __init__(self, line: int, column: int) -> None:
        self.line = line
        self.column = column

    def walk(self, inner: str, raw: bool) -> tuple[str, list[Place]]:
        """The value of the text between the quotes, and where each character of it is written."""
        value: list[str] = []
        places: list[Place] = []
        index = 0
        while index < len(inner):
            escape = None if raw else _ESCAPE.match(inner, index)
            piece = escape[0] if escape else inner[index]
            here = Place(self.line, self.column + 1)
            for character in _meaning(piece) if escape else piece:
                value.append(character)
                places.append(here)
            self._step(piece)
            index += len(piece)
        return "".join(value), places

    def _step(self, piece: str) -> None:
        if piece.endswith("\n"):
            self.line, self.column = self.line + 1, 0
        else:
            self.column += len(piece)


def _meaning(escape: str) -> str:
    value: str = ast.literal_eval(f'"{escape}"') if escape != '\\"' else '"'
    return value
