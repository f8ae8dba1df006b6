"""Many attempts in one sitting of the real program: what grows that should not.

Saves come from outside: good, wrong, crashing, with syntax errors, printing, leaving processes behind, and hanging
until the next one. What the program holds is counted at rest, ten times in the sitting.
"""

from __future__ import annotations

import dataclasses
import os
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.report import Figure, parser, publish
from tests.e2e import candidates
from tests.e2e.processes import Holdings, holdings
from tests.e2e.sitting import Sitting
from tests.flow.candidates import with_middle
from workbench.events import Status

GROWTH_MB = 10.0
WARM = 20
"""Attempts before the first count: everything has been loaded and shown once."""
_COUNTS = ("processes", "threads", "descriptors", "memfds", "mapped_memfds", "shared_files")
_KINDS: tuple[tuple[str, Status], ...] = (
    (candidates.good("plain"), "ok"),
    (candidates.WRONG_ON_1, "wrong"),
    (candidates.good("plain again"), "ok"),
    (candidates.RAISES_ON_1, "crash"),
    (with_middle("print('some output of rank', rank, 'x' * 200)"), "ok"),
    (candidates.SYNTAX_ERROR, "build-error"),
    (candidates.HANGS_ON_1, "superseded"),
    (candidates.leaves_sleepers("0.2"), "ok"),
    (candidates.SEGFAULT_ON_1, "crash"),
    (candidates.good("last"), "ok"),
)
"""Candidates, and what they are to be judged as."""


def judge_all(sitting: Sitting, count: int) -> Iterator[tuple[int, Status, str]]:
    """Save one candidate after the other; each attempt's number, what it is to be judged as, and what it was."""
    for number in range(2, count + 1):
        text, expected = _KINDS[number % len(_KINDS)]
        sitting.save(f"# attempt {number}\n{text}")
        if expected == "superseded" and number < count:
            sitting.sees("5 Verdict", f"#{number} running")
            yield number, expected, expected
        else:
            yield number, expected, sitting.verdict(number)


def rest(sitting: Sitting) -> Holdings:
    """What is held once nothing runs, the next ranks stand by, and what ended is gone."""
    sitting.until(lambda: "ranks ready" in sitting.screen.display[0])
    sitting.quiet(1.0)
    return holdings(sitting.process.pid)


def main() -> None:
    """Run it and print the figures."""
    arguments = parser("Growth over a long sitting.")
    arguments.add_argument("--attempts", type=int, default=200)
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder, Sitting(Path(folder)).ready() as sitting:
        started = time.monotonic()
        series: list[tuple[int, Holdings]] = [(1, rest(sitting))]
        statuses: Counter[str] = Counter()
        otherwise = 0
        for number, expected, status in judge_all(sitting, chosen.attempts):
            statuses.update([status])
            if status != expected:
                otherwise += 1
                print(f"attempt {number} was to be {expected}:", sitting.lines("7 History")[0])
            if number == WARM or number % max(WARM, chosen.attempts // 10) == 0:
                series.append((number, rest(sitting)))
        elapsed = time.monotonic() - started
        left = len(os.listdir(sitting.temporary))
    figures = _figures(series)
    figures.append(Figure("attempts not judged as they should be", otherwise, "", 0, f"of {chosen.attempts}"))
    figures.append(Figure("temporary folders at the end", left, "", 1))
    figures.append(Figure("seconds an attempt, with the counting", elapsed / chosen.attempts, "s"))
    print("statuses:", dict(statuses))
    for number, held in series:
        print(f"after {number}: {dataclasses.asdict(held)}")
    kept = [{"attempt": number, **dataclasses.asdict(held)} for number, held in series]
    publish("sitting", figures, chosen.json, series=kept, statuses=statuses)


def _figures(series: list[tuple[int, Holdings]]) -> list[Figure]:
    first = next(held for number, held in series if number >= WARM or number == series[-1][0])
    last = series[-1][1]
    note = f"from attempt {WARM} to {series[-1][0]}"
    figures = [
        Figure(f"growth in {name.replace('_', ' ')}", getattr(last, name) - getattr(first, name), "", 0, note)
        for name in _COUNTS
    ]
    grown = (last.resident_kb - first.resident_kb) / 1000
    figures.append(Figure("growth in resident memory of the screen", grown, "MB", GROWTH_MB, note))
    since_start = (last.resident_kb - series[0][1].resident_kb) / 1000
    figures.append(Figure("  since the first attempt", since_start, "MB", GROWTH_MB))
    ranks = (last.ranks_resident_kb - first.ranks_resident_kb) / 1000
    figures.append(Figure("growth in resident memory of the ranks", ranks, "MB", None, note))
    figures.append(Figure("resident memory of the screen at the end", last.resident_kb / 1000, "MB", 120))
    return figures


if __name__ == "__main__":
    main()
