"""The ranks' output as the log pane shows it: whole lines, safe to print, bounded."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from widgets.plain import plain, plain_lines

KEEP_LINES = 5000
"""Lines that are kept, of all ranks together."""

_OWN_FRAME = re.compile(r'File "([^"]*/workbench/ranks/[^"]*|<string>)", line|^(Current thread|Thread) 0x')

Kind = Literal["stdout", "stderr", "stack", "attempt"]


@dataclass(frozen=True)
class LogLine:
    """One line; ``rank`` is None for a line between attempts. ``whole`` is false until its line break has come."""

    kind: Kind
    rank: int | None
    text: str
    whole: bool = True


@dataclass(frozen=True)
class Output:
    """The newest lines, and how many older ones were dropped."""

    lines: tuple[LogLine, ...] = ()
    dropped: int = 0

    def write(self, rank: int, kind: Kind, text: str) -> Output:
        """Add a piece of a rank's output, which may end within a line; the next piece goes on there."""
        if not text:
            return self
        pieces = text.split("\n")
        over = len(pieces) - KEEP_LINES - 1
        if over > 0:
            return replace(self, dropped=self.dropped + over).write(rank, kind, "\n".join(pieces[over:]))
        pieces = plain_lines(text)
        whole = pieces[-1] == "" and len(pieces) > 1
        lines = [LogLine(kind, rank, piece) for piece in (pieces[:-1] if whole else pieces)]
        if not whole:
            lines[-1] = replace(lines[-1], whole=False)
        return self._join(lines)

    def stack(self, rank: int, words: str, stack: str) -> Output:
        """Add where a rank stands that seems stuck, with its stack as far as it is not pkwb's own code."""
        told = (f"rank {rank} {plain(words)}", *user_frames(stack))
        return self._add([LogLine("stack", rank, line) for line in told])

    def attempt(self, number: int, clock: str) -> Output:
        """Add the line that opens an attempt; an attempt that wrote nothing leaves no line behind."""
        opened = LogLine("attempt", None, f"attempt #{number}, saved {clock}")
        kept = self.lines[:-1] if self.lines and self.lines[-1].kind == "attempt" else self.lines
        return replace(self, lines=(*kept, opened))

    def _join(self, lines: list[LogLine]) -> Output:
        last = self.lines[-1] if self.lines else None
        if last is None or last.whole or (last.kind, last.rank) != (lines[0].kind, lines[0].rank):
            return self._add(lines)
        joined = replace(lines[0], text=plain(last.text + lines[0].text))
        return replace(self, lines=self.lines[:-1])._add([joined, *lines[1:]])

    def _add(self, lines: list[LogLine]) -> Output:
        everything = (*self.lines, *lines)
        over = max(0, len(everything) - KEEP_LINES)
        return Output(everything[over:], self.dropped + over)


def user_frames(stack: str) -> list[str]:
    """The lines of a rank's stack that are not pkwb's own code."""
    return [line for line in plain_lines(stack) if line.strip() and not _OWN_FRAME.search(line)]
