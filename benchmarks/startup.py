"""How soon the program answers, and what its screen costs while nothing happens."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.report import Figure, parser, publish, spread
from tests.e2e.processes import cpu_seconds, resident_kb
from tests.e2e.sitting import Sitting
from tests.widgets.terminal import ROOT

ANSWER_S, SCREEN_S, IDLE_PERCENT, RESIDENT_MB = 0.15, 0.4, 1.0, 120.0
_PKWB = (sys.executable, "-m", "workbench.cli")
_MODULES = (
    "import sys, workbench.app; print(len(sys.modules), *(name for name in ('torch', 'numpy') if name in sys.modules))"
)


def seconds(command: Sequence[str], folder: str, times: int) -> list[float]:
    """Wall seconds of a command, again and again; the first of them, with cold files, is left out."""
    found = []
    for _ in range(times + 1):
        started = time.perf_counter()
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, env=_environment(folder))
        found.append(time.perf_counter() - started)
    return found[1:]


def _environment(folder: str) -> dict[str, str]:
    return {**os.environ, **{f"PKWB_{kind}_DIR": f"{folder}/{kind}" for kind in ("STATE", "CACHE", "CONFIG")}}


def first_screen(folder: Path) -> float:
    """Seconds from exec to the first output that holds the problem's name."""
    folder.mkdir()
    with Sitting(folder) as sitting:
        while b"1_allreduce" not in sitting.raw:
            sitting.read(0.002)
        return time.monotonic() - sitting.started


def at_rest(folder: Path, watched: float) -> list[Figure]:
    """Processor, memory and libraries of the screen's process once everything is quiet."""
    folder.mkdir()
    with Sitting(folder).ready() as sitting:
        sitting.quiet(1.5)
        pid = sitting.process.pid
        used, received = cpu_seconds(pid), sitting.received
        sitting.read(watched)
        idle = (cpu_seconds(pid) - used) / watched * 100
        maps = Path(f"/proc/{pid}/maps").read_text()
        return [
            Figure("idle processor", idle, "%", IDLE_PERCENT, f"of one core, {watched:g} s, telemetry on"),
            Figure("idle output", (sitting.received - received) / watched, "B/s", 1024),
            Figure("resident memory of the screen", resident_kb(pid) / 1000, "MB", RESIDENT_MB),
            Figure("torch libraries mapped there", float("libtorch" in maps), "", 0),
        ]


def main() -> None:
    """Run it and print the figures."""
    arguments = parser("Start, first screen, and the screen at rest.")
    arguments.add_argument("--times", type=int, default=20)
    arguments.add_argument("--watched", type=float, default=10.0, help="seconds at rest")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        python = seconds((sys.executable, "-c", "pass"), folder, chosen.times)
        figures = spread("python -c pass", python, "s")
        for words in (("--help",), ("list",)):
            figures += spread(f"pkwb {words[0]}", seconds((*_PKWB, *words), folder, chosen.times), "s", ANSWER_S)
        screens = [first_screen(Path(folder) / f"screen-{turn}") for turn in range(chosen.times // 2 + 1)][1:]
        figures += spread("pkwb open, first screen", screens, "s", SCREEN_S)
        ratio = statistics.median(screens) / statistics.median(python)
        figures.append(Figure("  over python -c pass", ratio, "x"))
        modules, *heavy = subprocess.check_output((sys.executable, "-c", _MODULES), cwd=ROOT, text=True).split()
        figures.append(Figure("modules for the first screen", int(modules), "", note=f"heavy ones: {heavy or 'none'}"))
        figures += at_rest(Path(folder) / "rest", chosen.watched)
    publish("startup", figures, chosen.json)


if __name__ == "__main__":
    main()
