"""The places where two texts differ, to be taken one by one."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import SequenceMatcher

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True)
class Hunk:
    """Lines [first, end) of the text before become ``lines``, which keep their line ends; counted from 0."""

    first: int
    end: int
    lines: tuple[str, ...]

    @property
    def place(self) -> str:
        """Where it is in the text before, as people count: ``lines 3 to 5``, ``before line 7``."""
        if self.first == self.end:
            return f"before line {self.first + 1}"
        return f"line {self.end}" if self.end == self.first + 1 else f"lines {self.first + 1} to {self.end}"


def hunks(before: str, after: str) -> list[Hunk]:
    """All places where the texts differ, from the top."""
    old, new = _lines(before), _lines(after)
    found = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return [Hunk(i, j, tuple(new[k:end])) for kind, i, j, k, end in found if kind != "equal"]


def merged(before: str, all_of_them: list[Hunk], taken: Collection[int]) -> str:
    """The text before with the hunks of these places in the list taken."""
    lines = _lines(before)
    for place in sorted(taken, reverse=True):
        hunk = all_of_them[place]
        lines[hunk.first : hunk.end] = hunk.lines
    return "".join(lines)


def _lines(text: str) -> list[str]:
    """The lines as the editor counts them, with their ends; form feeds and the like are text."""
    return _LINE.findall(text)
