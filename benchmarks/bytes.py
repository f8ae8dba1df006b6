"""What the screen writes to the terminal: over ssh each byte counts. 160 columns, 48 rows, true colour."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.report import Figure, parser, publish, spread
from tests.widgets.terminal import Terminal, demo
from tests.widgets.test_bytes import IDLE_PER_SECOND, TYPED, cost

DOWN, PAGE_DOWN = "\x1b[B", "\x1b[6~"


def main() -> None:
    """Run it and print the figures."""
    arguments = parser("Bytes that typing, moving and resting cost.")
    arguments.add_argument("--watched", type=int, default=10, help="seconds at rest")
    chosen = arguments.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        demo(Path(folder), DEMO_TICK="1", DEMO_LINES="300") as terminal,
    ):
        terminal.until("timed 100/100")
        terminal.quiet(1.5)
        figures = [Figure("first screen and one verdict", terminal.received, "B")]
        figures += spread("typed character", [cost(terminal, key) for key in "for rank in all:"], "B", TYPED)
        figures += spread("cursor down", [cost(terminal, DOWN) for _ in range(10)], "B", TYPED)
        figures += spread("page down", [cost(terminal, PAGE_DOWN) for _ in range(3)], "B")
        figures.append(_idle(terminal, chosen.watched))
    publish("bytes", figures, chosen.json)


def _idle(terminal: Terminal, seconds: int) -> Figure:
    terminal.type("\x0f")
    terminal.until("Go to")
    terminal.type("2")
    terminal.until("load")
    terminal.quiet(0.9)
    rate = terminal.read(seconds) / seconds
    return Figure("screen at rest, telemetry in view", rate, "B/s", IDLE_PER_SECOND, f"{seconds} s")


if __name__ == "__main__":
    main()
