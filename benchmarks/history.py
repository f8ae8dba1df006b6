"""How long the history takes to open with a thousand attempts in the store.

`pkwb open` in a pseudo-terminal, with the log in front; from the keys that go to the history (ctrl+o, 7) until the
newest attempt is on the screen, again and again. The attempts are made up; the screen and the store are the program's.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.report import Figure, parser, publish, spread
from sessions.store import Store
from tests.e2e.sitting import Sitting
from tests.sessions.samples import source, target, verdict

ATTEMPTS, OPENED_S = 1000, 0.2
_GO = "\x0f"


def fill(path: Path) -> None:
    """A store with so many attempts on problem 1, each of a text of its own."""
    path.parent.mkdir(parents=True)
    store = Store.open(path, keep=10 * ATTEMPTS)
    for number in range(1, ATTEMPTS + 1):
        store.record(target(), source(f"x = {number}"), verdict(number), started=float(number))
    store.close()


def open_history(sitting: Sitting) -> float:
    """Seconds from the keys to the newest attempt's line."""
    sitting.type(_GO + "9")
    sitting.until(lambda: f"id {ATTEMPTS} " not in sitting.text)
    sitting.quiet()
    started = time.monotonic()
    sitting.type(_GO + "7")
    sitting.until(lambda: f"id {ATTEMPTS} " in sitting.text)
    return time.monotonic() - started


def main() -> None:
    """Run it and print the figures."""
    arguments = parser("Opening the history.")
    arguments.add_argument("--times", type=int, default=20)
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        fill(Path(folder) / "state" / "sessions.sqlite3")
        with Sitting(Path(folder)).ready() as sitting:
            taken = [open_history(sitting) for _ in range(chosen.times)]
    figures = [*spread("history opened", taken, "s", OPENED_S), Figure("attempts in the store", ATTEMPTS, "")]
    publish("history", figures, chosen.json, seconds=taken)


if __name__ == "__main__":
    main()
