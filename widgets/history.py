"""Earlier attempts of the problem, newest first."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from textual.content import Content

from sessions.model import Attempt
from widgets import format as fmt
from widgets.layout import cells
from widgets.messages import AttemptChosen
from widgets.plain import plain, reason_lines
from widgets.reading import KEYS_HELP, ReadingPane
from widgets.words import status_text
from workbench.target import Target

_WIDE = 70
"""Cells from which on there is room for time and bandwidth."""
_COLUMNS, _FIGURES = (8, 13, 9), (8, 10)
"""Cells of moment, status and speedup; of time and bandwidth."""


class HistoryPane(ReadingPane):
    """One line an attempt; choosing one shows its source and verdict."""

    HELP = f"""
### History

Number, time, status, speedup and reason of each attempt, newest first; with more room also the time of a call and the
bandwidth. Attempts of earlier sittings have their `id` instead of a number, as `pkwb sessions` takes it. Where size,
dtype, ranks or backend were others than now, they are named, and so is an unusual way of timing, such as `graph` or
`protocol pkb`. `*` marks the fastest good one under the present ones.

`enter` or a click shows an attempt: its source, what differs from the text now, and a way to restore it.
{KEYS_HELP}"""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self._target = target
        self._sitting = ""
        self._attempts: tuple[Attempt, ...] = ()

    def show_attempts(self, attempts: Sequence[Attempt], sitting: str) -> None:
        """Show these, in any order; ``sitting`` is the present one. The cursor stays on its attempt."""
        cursor = self.lines.cursor
        kept = self._attempts[cursor].id if 0 <= cursor < len(self._attempts) else None
        self._attempts = tuple(sorted(attempts, key=lambda one: one.id, reverse=True))
        self._sitting = sitting
        at = next((row for row, one in enumerate(self._attempts) if one.id == kept), 0) if cursor > 0 else 0
        self.relayout()
        if self.lines.choices:
            self.lines.move_to(at)

    def build(self, width: int) -> list[Content]:
        """One line each, the reason last."""
        if not self._attempts:
            return [Content.styled("no attempts yet", "dim")]
        best = self._best()
        names = [one.name(self._sitting) for one in self._attempts]
        room = max(map(len, names))
        figures = self._room_for(width - room) if width >= _WIDE else 0
        return [
            self._line(one, name.ljust(room), one is best, figures)
            for one, name in zip(self._attempts, names, strict=True)
        ]

    def _room_for(self, width: int) -> int:
        """How many figures fit beside what no line may be without: its conditions and its manner."""
        named = max(len(self._named(one)) for one in self._attempts)
        left = width - sum(size + 1 for size in _COLUMNS) - named - 1
        return sum(1 for end in itertools.accumulate(size + 1 for size in _FIGURES) if end <= left)

    def _named(self, one: Attempt) -> str:
        return " · ".join(filter(None, (self._conditions(one), one.manner)))

    def choices(self) -> range:
        """Every attempt."""
        return range(len(self._attempts))

    def chosen(self, line: int) -> None:
        """Show it."""
        self.post_message(AttemptChosen(self._attempts[line].id))

    def _best(self) -> Attempt | None:
        """The good attempt with the highest median speedup, the earliest of equals, of those that can be compared."""
        own = next((one.manner for one in self._attempts if one.sitting == self._sitting and one.speedup), "")
        same = [one for one in self._attempts if one.manner == own and not self._conditions(one)]
        good = [one for one in same if one.status == "ok"]
        timed = [(one.speedup.median, -one.id, one) for one in good if one.speedup]
        return max(timed, key=lambda entry: entry[:2])[2] if timed else None

    def _conditions(self, one: Attempt) -> str:
        """Where an attempt was made under other conditions than the present: which."""
        target, binding = self._target, self._target.binding
        now = (binding.size, binding.dtype, f"{target.world} {target.device} ranks", target.backend)
        then = (one.size, one.dtype, f"{one.world} {one.device} ranks", one.backend)
        return " ".join(old for old, new in zip(then, now, strict=True) if old != new)

    def _line(self, one: Attempt, name: str, best: bool, figures: int) -> Content:
        speed = fmt.speedup(one.speedup.median) if one.speedup else "-"
        texts = (
            fmt.duration(one.candidate_ms) if one.candidate_ms is not None else "-",
            fmt.bandwidth(one.gbps) if one.gbps is not None else "-",
        )
        reason = " ".join(reason_lines("" if one.status == "ok" else one.reason))
        known = (
            Content.styled(fmt.moment(one.started), "dim"),
            status_text(one.status),
            Content.styled(f"{speed}{' *' if best else ''}", "bold" if best else ""),
        )
        return cells(
            [
                (Content.styled(name, "bold" if one.sitting == self._sitting else ""), len(name)),
                *zip(known, _COLUMNS),
                *((Content(text), size) for text, size in zip(texts[:figures], _FIGURES)),
                (Content(" · ".join(filter(None, (self._named(one), plain(one.model), plain(one.note), reason)))), 0),
            ]
        )
