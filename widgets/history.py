"""Earlier attempts of the problem, newest first."""

from __future__ import annotations

import time
from collections.abc import Sequence

from textual.content import Content

from sessions.model import Attempt
from widgets import format as fmt
from widgets.layout import cells
from widgets.messages import AttemptChosen
from widgets.plain import plain
from widgets.reading import KEYS_HELP, ReadingPane
from widgets.words import status_text

_WIDE = 70
"""Cells from which on there is room for time and bandwidth."""


class HistoryPane(ReadingPane):
    """One line an attempt; choosing one shows its source and verdict."""

    HELP = f"""
### History

Number, time, status, speedup and reason of each attempt, newest first; with more room also the time of a call and the
bandwidth. `*` marks the fastest good one.

`enter` or a click shows an attempt: its source, what differs from the text now, and a way to restore it.
{KEYS_HELP}"""

    def __init__(self) -> None:
        super().__init__()
        self._attempts: tuple[Attempt, ...] = ()

    def show_attempts(self, attempts: Sequence[Attempt]) -> None:
        """Show these, in the order of the store or any other; the cursor stays on its attempt."""
        cursor = self.lines.cursor
        kept = self._attempts[cursor].id if 0 <= cursor < len(self._attempts) else None
        self._attempts = tuple(sorted(attempts, key=lambda one: one.id, reverse=True))
        at = next((row for row, one in enumerate(self._attempts) if one.id == kept), 0) if cursor > 0 else 0
        self.relayout()
        if self.lines.choices:
            self.lines.move_to(at)

    def build(self, width: int) -> list[Content]:
        """One line each, the reason last."""
        if not self._attempts:
            return [Content.styled("no attempts yet", "dim")]
        best = _best(self._attempts)
        today = time.strftime("%Y-%m-%d")
        digits = max(len(str(one.number)) for one in self._attempts)
        wide = width >= _WIDE
        return [_line(one, one is best, today, digits + 1, wide) for one in self._attempts]

    def choices(self) -> range:
        """Every attempt."""
        return range(len(self._attempts))

    def chosen(self, line: int) -> None:
        """Show it."""
        self.post_message(AttemptChosen(self._attempts[line].id))


def _best(attempts: tuple[Attempt, ...]) -> Attempt | None:
    """The good attempt with the highest median speedup, the earliest of equals."""
    timed = [(one.speedup.median, -one.id, one) for one in attempts if one.speedup and one.status == "ok"]
    return max(timed, key=lambda entry: entry[:2])[2] if timed else None


def _line(one: Attempt, best: bool, today: str, width: int, wide: bool) -> Content:
    started = time.localtime(one.started)
    same_day = time.strftime("%Y-%m-%d", started) == today
    when = time.strftime("%H:%M:%S" if same_day else "%d %b", started)
    speed = fmt.speedup(one.speedup.median) if one.speedup else "-"
    figures = [
        (Content(fmt.duration(one.candidate_ms) if one.candidate_ms is not None else "-"), 8),
        (Content(fmt.bandwidth(one.gbps) if one.gbps is not None else "-"), 9),
    ]
    note = plain(one.note or ("" if one.status == "ok" else one.reason))
    return cells(
        [
            (Content.styled(f"#{one.number}", "bold"), width),
            (Content.styled(when, "dim"), 8),
            (status_text(one.status), 13),
            (Content.styled(f"{speed}{' *' if best else ''}", "bold" if best else ""), 9),
            *(figures if wide else []),
            (Content(note), 0),
        ]
    )
