"""The verdict, and the matrix of ranks: status, largest error, time, first bad index."""

from __future__ import annotations

import re

from textual.content import Content

from widgets import format as fmt
from widgets.attempt import AttemptView, RankRow
from widgets.layout import cells, wrapped
from widgets.messages import RankChosen
from widgets.plain import plain, reason_lines
from widgets.reading import KEYS_HELP, ReadingPane
from widgets.state import RunView, Shown
from widgets.words import STATUS, status_text
from workbench.events import Status
from workbench.target import Target

_WIDE = 60
"""Cells from which on there is room for the relative error and its share of the tolerance."""
_REASON_LINES = 12
_ABOUT_RANKS = re.compile(r"(all ranks|ranks? [0-9, ]+): ")
_OF_THE_FILE = ("build-error", "load-error")
"""Statuses that say nothing of a rank where all ranks have them."""


class VerdictPane(ReadingPane):
    """One line for the attempt, one for each rank, then what went wrong where."""

    HELP = f"""
### Verdict

One row a rank: **status**, **max err** (largest absolute error over all trials), **ms** (time of a call), **at** (first
bad index). With more room also the largest relative error and the error's share of the tolerance: above 100% is wrong.
Dimmed rows belong to the last good attempt and stay until this one has been judged.

`enter` or a click shows the output of that rank alone.
{KEYS_HELP}"""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self._world = target.world
        self._view = RunView()
        self._rows = range(0)

    def show_view(self, view: RunView) -> None:
        """Show another view."""
        if view.current is not self._view.current or view.good is not self._view.good:
            self._view = view
            self.relayout()

    def build(self, width: int) -> list[Content]:
        """Headline, matrix, details."""
        rows = self._view.rows(self._world)
        top = [*_headline(self._view, width), _header(width)]
        self._rows = range(len(top), len(top) + len(rows))
        table = [_row(one, width, self._view) for one in rows]
        return [*top, *table, *_remark(self._view, rows, width), *_details(self._view, width)]

    @property
    def wanted(self) -> int:
        """Lines that should be in sight: the ranks', and all that is said of an attempt that failed or is stuck."""
        current = self._view.current
        told = not current.good if current.finished else bool(current.stacks)
        return len(self.lines.texts) if told else self._world + 2

    def choices(self) -> range:
        """The ranks' rows."""
        return self._rows

    def chosen(self, line: int) -> None:
        """Show that rank's output."""
        self.post_message(RankChosen(line - self._rows.start))


def _headline(view: RunView, width: int) -> list[Content]:
    current = view.current
    if not current.number:
        return [Content.styled("save the file to run it", "dim")]
    if view.status is None:
        return [Content(f"#{current.number} running")]
    look = STATUS[view.status]
    return wrapped(Content.styled(f"{look.sign} {_summary(view)}", f"bold {look.style}"), width, indent=2)


def _summary(view: RunView) -> str:
    """The headline's words: ``ok, 5 of 5 trials`` or ``wrong on rank 1: out[3, 17] expected 0.5 got 0``."""
    current, status = view.current, view.status
    so_far = "" if current.finished else " so far"
    if status == "ok":
        passed, trials = current.trials
        return f"ok{so_far}, {passed} of {trials} trials" if trials else f"ok{so_far}"
    bad = [row for row in current.ranks if row.status == status]
    first = _found(bad[0]) if status == "wrong" and bad else ""
    return f"{status}{so_far}{_where(bad, current)}{': ' if first else ''}{first}"


def _where(bad: list[RankRow], current: AttemptView) -> str:
    if not bad or (len(bad) == len(current.ranks) and bad[0].status in _OF_THE_FILE):
        return ""
    return " on all ranks" if len(bad) == len(current.ranks) > 1 else f" on {_ranks([row.rank for row in bad])}"


def _ranks(numbers: list[int]) -> str:
    return f"rank{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"


def _found(row: RankRow) -> str:
    """Where a result is wrong, and what stands there."""
    values = f" expected {plain(row.expected)} got {plain(row.got)}" if row.expected or row.got else ""
    return f"{plain(row.first_bad)}{values}".strip()


def _header(width: int) -> Content:
    errors = ["max err", *(["rel err", "of tol"] if width >= _WIDE else [])]
    return cells(
        [(Content.styled(name, "dim"), size) for name, size in _columns(["rank", "status", *errors, "ms", "at"])]
    )


def _columns(names: list[str]) -> list[tuple[str, int]]:
    sizes = {"rank": 4, "status": 13, "max err": 7, "rel err": 7, "of tol": 6, "ms": 6, "at": 0}
    return [(name, sizes[name]) for name in names]


def _row(shown: Shown, width: int, view: RunView) -> Content:
    row = shown.row
    status = status_text(row.status, "-" if view.current.finished else "waiting")
    if view.busy and not shown.stale and row.status == "ok":
        status = status + f" {row.passed}/{row.trials}"
    values = {
        "rank": Content(str(row.rank)),
        "status": status,
        "max err": Content(fmt.error(row.max_abs_err)),
        "rel err": Content(fmt.error(row.max_rel_err)),
        "of tol": Content("-" if row.error_ratio is None else fmt.percent(row.error_ratio)),
        "ms": Content("-" if row.time_ms is None else fmt.millis(row.time_ms)),
        "at": Content(plain(row.first_bad) or "-"),
    }
    names = [name for name in values if width >= _WIDE or name not in ("rel err", "of tol")]
    line = cells([(values[name], size) for name, size in _columns(names)])
    return Content.styled(line.plain, "dim") if shown.stale else line


def _remark(view: RunView, rows: tuple[Shown, ...], width: int) -> list[Content]:
    """Which attempt the dimmed rows are of, and which rows those are where it is not all of them."""
    stale = [shown.row.rank for shown in rows if shown.stale]
    if not stale or not view.good:
        return []
    whose = "" if len(stale) == len(rows) else f"{_ranks(stale)} "
    return wrapped(Content.styled(f"{whose}dimmed: last good, #{view.good.number}", "dim"), width)


def _details(view: RunView, width: int) -> list[Content]:
    """What is known of the ranks that failed or hang, and the reason where it says more."""
    current, status = view.current, view.status
    texts = _rank_texts(current, status)
    said = status == "ok" or (status in ("wrong", "hang") and any(row.status == status for row in current.ranks))
    if current.verdict and not said:
        reason = current.verdict.reason
        others = [text for text in texts if _words(text) != _words(plain(reason))]
        texts = [*reason_lines(reason)[:_REASON_LINES], *others]
    lines = [line for text in dict.fromkeys(filter(None, texts)) for line in wrapped(text, width, indent=2)]
    return [Content(), *lines] if lines else []


def _words(text: str) -> str:
    """A text without the ranks that it is about."""
    return _ABOUT_RANKS.sub("", text)


def _rank_texts(current: AttemptView, status: Status | None) -> list[str]:
    """One text for all ranks of which the same is known: where they stand, or what went wrong."""
    known: dict[str, list[int]] = {}
    stands = {} if current.good else {stack.rank: plain(stack.words) for stack in current.stacks}
    wrong = [row.rank for row in current.ranks if row.status == "wrong" and _found(row)] if status == "wrong" else []
    for row in current.ranks:
        if row.status not in (None, "ok") and row.rank not in wrong[:1]:
            known.setdefault(stands.pop(row.rank, "") or plain(row.detail) or _found(row), []).append(row.rank)
    for rank, text in stands.items():
        known.setdefault(text, []).append(rank)
    return [f"{_ranks(ranks)}: {text}" for text, ranks in known.items() if text]
