"""A diff in one column, for Pythons that the side-by-side view has no release for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from textual.content import Content
from textual.widgets import Static

_AROUND = 3
_STYLES = {"-": "$text-error", "+": "$text-success", " ": "", "~": "$text-muted"}


@dataclass(frozen=True)
class Line:
    """One line of a diff: taken away (-), added (+), kept ( ), or a mark where kept lines are left out (~)."""

    sign: Literal["-", "+", " ", "~"]
    number: int
    """1-based, in the text after the change; of a line taken away, in the text before it."""
    text: str


class UnifiedDiff(Static):
    """Shows what changed between two texts, with three lines around each change."""

    def __init__(self, before: str, after: str) -> None:
        super().__init__(_content(list(diff_lines(before, after))))


def diff_lines(before: str, after: str) -> Iterator[Line]:
    """The lines of the diff from ``before`` to ``after``; none where only the ends of lines differ."""
    old, new = before.splitlines(), after.splitlines()
    reached = 0
    for group in SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(_AROUND):
        if group[0][3] > reached:
            yield Line("~", group[0][3], f"{group[0][3] - reached} lines the same")
        for kind, old_first, old_end, new_first, new_end in group:
            if kind != "equal":
                yield from _numbered("-", old, old_first, old_end)
            yield from _numbered(" " if kind == "equal" else "+", new, new_first, new_end)
        reached = group[-1][4]


def _numbered(sign: Literal["-", "+", " "], lines: list[str], first: int, end: int) -> Iterator[Line]:
    for index in range(first, end):
        yield Line(sign, index + 1, lines[index].expandtabs(4))


def _content(lines: list[Line]) -> Content:
    if not lines:
        return Content("The texts differ only in the ends of their lines.")
    width = len(str(max(line.number for line in lines)))
    return Content("\n").join(_row(line, width) for line in lines)


def _row(line: Line, width: int) -> Content:
    number = "" if line.sign == "~" else str(line.number)
    return Content.styled(f"{number:>{width}} {line.sign} {line.text}", _STYLES[line.sign])
