"""How long a save takes to its first verdict and to its last, through the real watcher and engine in one process.

Problem 1, five trials, 100 timed samples a side; at size smoke on two CPU ranks unless asked otherwise. Each save waits
until the one before has its verdict and all ranks that are kept stand by.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.report import Figure, parser, publish, spread
from tests.flow.candidates import GOOD
from tests.flow.sitting import Sitting
from tests.saves import by_rename, in_place
from workbench.config import WatchSettings
from workbench.events import Event, FirstVerdict, PhaseChanged, RanksReady, SourceSeen, Verdict
from workbench.flow.watch import FileWatcher
from workbench.source import read_source

TARGETS = {"cpu": (150.0, 1000.0), "cuda": (100.0, 500.0)}
"""ms to the first and to the last verdict, medians."""
STANDBY_MS, RESIDENT_MB = 2500.0, 150.0
TRIALS, SAMPLES = 5, 100
PARTS = ("save to seen", "ranks taken", "loaded", "first trial", "all trials", "next ranks", "timed", "rest")

_MOMENTS = (
    "seen",
    "start finished",
    "load finished",
    "first",
    "check finished",
    "time started",
    "time finished",
    "last",
)
"""When each part ends."""


STYLES: dict[str, Callable[[Path, str], None]] = {"saved by rename": by_rename, "saved in place": in_place}


class Bench:
    """Watcher, engine, and the times of one save's events in ms after the write began."""

    def __init__(self, folder: Path, chosen: argparse.Namespace) -> None:
        self._path = folder / "candidate.py"
        self._path.write_text(GOOD)
        where = {"device": chosen.device, "size": chosen.size, "limit": 30.0}
        self._sitting = Sitting("1", chosen.ranks, "bfloat16", trials=TRIALS, samples=SAMPLES, **where)
        self._sitting.stream.subscribe(self._on_event)
        self._written = 0.0
        self.times: dict[str, float] = {}
        self.status = ""
        self.standby_ms: list[float] = []

    def run(self, saves: int) -> list[tuple[str, dict[str, float]]]:
        """Save so many times, style by style in turn; what each took."""
        watcher = self._sitting.run(self._watch())
        names = list(STYLES)
        taken = [(names[turn % len(names)], self._save(turn, names[turn % len(names)])) for turn in range(saves)]
        self._sitting.run(watcher.stop())
        self._sitting.close()
        return taken

    async def _watch(self) -> FileWatcher:
        watcher = FileWatcher(self._path, WatchSettings(), self._changed, lambda event: None)
        await watcher.start()
        return watcher

    def _save(self, turn: int, style: str) -> dict[str, float]:
        self.times, self.status = {}, ""
        text = f"# save {turn}\n{GOOD}"
        self._written = time.perf_counter()
        STYLES[style](self._path, text)
        self._sitting.until(lambda: bool(self.status) and self._sitting.engine.standing_by)
        if self.status != "ok":
            print(f"save {turn}: {self.status}; left out")
            return {}
        return parts_of(self.times)

    def _changed(self) -> None:
        self._reading = asyncio.ensure_future(self._submit())

    async def _submit(self) -> None:
        source = await asyncio.to_thread(read_source, self._path)
        self._sitting.engine.submit(source, "disk")

    def _on_event(self, event: Event) -> None:
        now = (time.perf_counter() - self._written) * 1e3
        if isinstance(event, SourceSeen):
            self.times["seen"] = now
        elif isinstance(event, PhaseChanged):
            self.times[f"{event.phase} {event.state}"] = now
        elif isinstance(event, FirstVerdict):
            self.times["first"] = now
        elif isinstance(event, RanksReady):
            self.standby_ms.append(event.startup_ms)
        elif isinstance(event, Verdict):
            self.times["last"], self.status = now, event.status


def parts_of(times: dict[str, float]) -> dict[str, float]:
    """The time of each part, in order, from the moments at which they ended; and the two sums that count."""
    moments = [0.0, *(times[name] for name in _MOMENTS)]
    parts = dict(zip(PARTS, (end - begin for begin, end in itertools.pairwise(moments)), strict=True))
    return {**parts, "first verdict": times["first"], "last verdict": times["last"]}


def main() -> None:
    """Run it and print the figures."""
    arguments = parser("Warm save to verdict.")
    arguments.add_argument("--saves", type=int, default=60)
    arguments.add_argument("--device", default="cpu", choices=list(TARGETS))
    arguments.add_argument("--ranks", type=int, default=2)
    arguments.add_argument("--size", default="smoke")
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PKWB_CACHE_DIR"] = f"{folder}/cache"
        bench = Bench(Path(folder), chosen)
        taken = bench.run(chosen.saves + 2)[2:]
    good = [(style, parts) for style, parts in taken if parts]
    figures = [*_figures(good, *TARGETS[chosen.device]), *_rest(bench, len(taken) - len(good))]
    name = "save_to_verdict" if chosen.device == "cpu" else f"save_to_verdict_{chosen.device}"
    where = {"device": chosen.device, "ranks": chosen.ranks, "size": chosen.size}
    publish(name, figures, chosen.json, **where, saves=[{"style": style, **parts} for style, parts in good])


def _figures(taken: list[tuple[str, dict[str, float]]], first_ms: float, last_ms: float) -> list[Figure]:
    def of(part: str, style: str = "") -> list[float]:
        return [parts[part] for name, parts in taken if style in ("", name)]

    figures = spread("save to first verdict", of("first verdict"), "ms", first_ms)
    for style in STYLES:
        figures += spread(f"  {style}", of("first verdict", style), "ms")
    figures += spread(f"save to last verdict, {TRIALS} trials, {SAMPLES} samples", of("last verdict"), "ms", last_ms)
    for part in PARTS:
        figures += spread(f"  {part}", of(part), "ms")[:1]
    return figures


def _rest(bench: Bench, failed: int) -> list[Figure]:
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return [
        *spread("the next ranks, from their fork until they stand by", bench.standby_ms[1:], "ms", STANDBY_MS),
        Figure("largest resident memory of this process", resident, "MB", RESIDENT_MB),
        Figure("saves not judged ok", failed, "", 0),
    ]


if __name__ == "__main__":
    main()
