"""Everything that needs GPUs, in one run of some minutes: each part's output goes to a file, a short table comes last.

    python -m benchmarks.gpu_check --ranks 2 [--logs FOLDER] [--only faults timing ...]

A part that needs more GPUs than there are is left out, and the table says so. Exit code 1 when a part failed. Nothing
here changes a setting of a GPU, and no NVLink multicast takes part.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import RESULTS, machine
from workbench.devices import NO_MULTICAST, visible_gpus
from workbench.tables import table

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Part:
    """One script: ``{ranks}`` stands for the number of ranks; ``seconds`` is when it is ended."""

    name: str
    command: str
    seconds: int
    gpus: int = 1
    shared: bool = False
    """Whether it makes ranks share a GPU."""


PARTS = (
    Part("doctor", "-m benchmarks.doctor_check --ranks {ranks}", 120),
    Part("tests", "-m pytest -q -m gpu -p no:cacheprovider tests", 300),
    Part(
        "save to verdict",
        "-m benchmarks.save_to_verdict --device cuda --ranks {ranks} --size default --saves 20 --json",
        150,
    ),
    Part("timing", "-m benchmarks.timing_check --device cuda --ranks {ranks} --json", 300),
    Part("protocol", "-m benchmarks.pkb_protocol --device cuda --ranks {ranks} --compare --json", 200),
    Part("faults", "-m benchmarks.fault_check --ranks {ranks} --json", 150),
    Part("links", "-m benchmarks.links_check --device cuda --ranks 2 --json", 200, gpus=2),
    Part("build", "-m benchmarks.build --device cuda --ranks {ranks} --json", 300),
    Part("quick and full builds", "-m benchmarks.build_check --ranks {ranks} --json", 600),
    Part("call overhead", "-m benchmarks.slim_calls", 200),
    Part("starters", "-m benchmarks.starters_check --ranks {ranks} --backends triton", 120),
    Part("references", "-m benchmarks.judge_check --device cuda --ranks {ranks} --once", 500, gpus=2),
    Part(
        "references, shared",
        "-m benchmarks.judge_check --device cuda --ranks 2 --share-gpus --size smoke --once",
        500,
        shared=True,
    ),
)


@dataclass(frozen=True)
class Outcome:
    """What came of a part, in one row: its state, seconds, and the last line it printed."""

    name: str
    state: str
    seconds: float
    last: str

    @property
    def row(self) -> tuple[str, str, str, str]:
        """The row of the table."""
        return self.name, self.state, f"{self.seconds:.0f}", self.last[:110]


def main() -> int:
    """Run the parts one after the other and print the table."""
    options = _options()
    gpus = visible_gpus()
    print("  ".join(f"{key} {value}" for key, value in machine().items()), f" {gpus} GPUs", flush=True)
    outcomes = list(_outcomes(options, gpus))
    print("\n".join(table(("part", "state", "s", "last line"), [one.row for one in outcomes], (2,))))
    print(f"{sum(one.state == 'ok' for one in outcomes)} of {len(outcomes)} ok; output in {options.logs}")
    if options.json:
        parts = list(map(dataclasses.asdict, outcomes))
        found = {"benchmark": "gpu_check", **machine(), "gpus": gpus, "ranks": options.ranks, "parts": parts}
        (RESULTS / "gpu_check.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return int(any(one.state in ("FAILED", "TOO LONG") for one in outcomes))


def _options() -> argparse.Namespace:
    names = [part.name for part in PARTS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--logs", type=Path, default=Path(tempfile.gettempdir()) / "pkwb-gpu-check")
    parser.add_argument("--only", nargs="+", choices=names, default=names)
    parser.add_argument("--json", action="store_true", help="also write the table to results/gpu_check.json")
    options = parser.parse_args()
    options.logs.mkdir(parents=True, exist_ok=True)
    return options


def _outcomes(options: argparse.Namespace, gpus: int) -> Iterator[Outcome]:
    for part in PARTS:
        if part.name not in options.only:
            continue
        needed = max(part.gpus, 1 if part.shared else options.ranks)
        if gpus < needed:
            yield Outcome(part.name, "left out", 0.0, f"needs {needed} GPUs")
            continue
        outcome = _run(part, options)
        print(f"{outcome.state:8s} {outcome.seconds:5.0f} s  {part.name}: {outcome.last}", flush=True)
        yield outcome


def _run(part: Part, options: argparse.Namespace) -> Outcome:
    started = time.monotonic()
    log = options.logs / f"{part.name.replace(',', '').replace(' ', '-')}.log"
    command = [sys.executable, *part.command.format(ranks=options.ranks).split()]
    with log.open("w") as output:
        try:
            code = subprocess.run(
                command,
                cwd=ROOT,
                env={**os.environ, **NO_MULTICAST},
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=part.seconds,
                check=False,
            ).returncode
            state = "FAILED" if code else "ok"
        except subprocess.TimeoutExpired:
            state = "TOO LONG"
    lines = log.read_text(errors="replace").rstrip().splitlines()
    return Outcome(part.name, state, time.monotonic() - started, lines[-1].strip() if lines else "")


if __name__ == "__main__":
    sys.exit(main())
