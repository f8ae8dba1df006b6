"""From a place in a unit's text back to line and column of the user's file; nothing where that is not certain."""

from __future__ import annotations

import ast
import bisect
import functools
import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, overload

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
    others = _bare_lines(source)
    found = [number for number, other in enumerate(others, 1) if other == bare]
    found = found or [number for number, other in enumerate(others, 1) if _is_made_of(bare, other)]
    return Place(found[0]) if len(found) == 1 else Place()


@functools.lru_cache(maxsize=4)
def _bare_lines(source: str) -> list[str]:
    return [line.strip() for line in source.split("\n")]


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
            places = literal_places(node, source) if node is not None else _NOWHERE
            return places[offset] if offset < len(places) else Place()
        offset -= len(part)
    return Place()


class Places(Sequence[Place]):
    """Where each character of a text is written, and the place behind the last; found out when it is asked for."""

    def __init__(self, runs: list[_Run], length: int) -> None:
        self._runs = runs
        self._starts = [run.start for run in runs]
        self._length = length

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Place: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Place]: ...

    def __getitem__(self, index: int | slice) -> Place | Sequence[Place]:
        if isinstance(index, slice):
            return [self[one] for one in range(*index.indices(self._length))]
        if not 0 <= index < self._length:
            raise IndexError(index)
        run = self._runs[bisect.bisect_right(self._starts, index) - 1]
        return Place(run.line, run.column + index - run.start + 1)


class _Run(NamedTuple):
    """Characters that stand side by side in the source as in the value: the first one's place, column from 0."""

    start: int
    line: int
    column: int


_NOWHERE = Places([], 0)


@functools.lru_cache(maxsize=16)
def literal_places(node: ast.Constant, source: str) -> Places:
    """Where each character of a literal's value is written, and the place behind the last; empty if that is unknown."""
    source = source.replace("\r\n", "\n")
    segment = ast.get_source_segment(source, node)
    if segment is None:
        return _NOWHERE
    column = len(source.split("\n")[node.lineno - 1].encode()[: node.col_offset].decode(errors="replace"))
    walker = _Walker()
    try:
        for token in tokenize.generate_tokens(io.StringIO(f"({segment})").readline):
            if token.type == tokenize.STRING:
                _walk_token(walker, token, node.lineno, column)
    except (tokenize.TokenError, SyntaxError, ValueError):
        return _NOWHERE
    return walker.places() if "".join(walker.value) == node.value else _NOWHERE


def _walk_token(walker: _Walker, token: tokenize.TokenInfo, line: int, column: int) -> None:
    """One literal; ``line`` and ``column`` are where the first token of the constant begins."""
    prefix = re.match(r"[a-zA-Z]*", token.string)
    raw = prefix is not None and "r" in prefix[0].lower()
    body = token.string[len(prefix[0]) if prefix else 0 :]
    quotes = 3 if body[:3] in ('"""', "'''") else 1
    position = len(token.string) - len(body) + quotes
    walker.line = line + token.start[0] - 1
    walker.column = position + (token.start[1] - 1 + column if token.start[0] == 1 else token.start[1])
    walker.walk(body[quotes:-quotes], raw)


class _Walker:
    """Goes through the text between the quotes of literals, notes their value and where it is written."""

    def __init__(self) -> None:
        self.line = self.column = 0
        self.value: list[str] = []
        self._runs: list[_Run] = []
        self._length = 0

    def walk(self, inner: str, raw: bool) -> None:
        """Go through one literal."""
        done = 0
        for escape in () if raw else _ESCAPE.finditer(inner):
            self._plain(inner[done : escape.start()])
            self._note(_meaning(escape[0]), escape[0])
            done = escape.end()
        self._plain(inner[done:])

    def places(self) -> Places:
        """What was found."""
        return Places([*self._runs, _Run(self._length, self.line, self.column)], self._length + 1)

    def _plain(self, text: str) -> None:
        *lines, last = text.split("\n")
        for line in lines:
            self._note(f"{line}\n", f"{line}\n")
        self._note(last, last)

    def _note(self, value: str, written: str) -> None:
        if value:
            self._runs.append(_Run(self._length, self.line, self.column))
            self.value.append(value)
            self._length += len(value)
        if written.endswith("\n"):
            self.line, self.column = self.line + 1, 0
        else:
            self.column += len(written)


def _meaning(escape: str) -> str:
    value: str = ast.literal_eval(f'"{escape}"') if escape != '\\"' else '"'
    return value
