"""What the benchmarks share: figures beside their targets, the machine they were taken on, results as JSON."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workbench import __version__
from workbench.tables import table

RESULTS = Path(__file__).resolve().parent / "results"
_PACKAGES = ("textual", "torch", "watchdog", "numpy")


@dataclass(frozen=True)
class Figure:
    """One figure; ``target`` is the most it should be, in the same unit, where there is one."""

    name: str
    value: float
    unit: str
    target: float | None = None
    note: str = ""


def parser(description: str) -> argparse.ArgumentParser:
    """Arguments of every benchmark."""
    found = argparse.ArgumentParser(prog=f"python -m benchmarks.{Path(sys.argv[0]).stem}", description=description)
    found.add_argument("--json", action="store_true", help=f"also write the results to {RESULTS.name}/NAME.json")
    return found


def spread(name: str, values: Sequence[float], unit: str, target: float | None = None, note: str = "") -> list[Figure]:
    """Median, held against the target, and 90th percentile of some values."""
    p90 = statistics.quantiles(values, n=10, method="inclusive")[8] if len(values) > 1 else values[0]
    return [
        Figure(f"{name}, median", statistics.median(values), unit, target, note or f"{len(values)} times"),
        Figure(f"{name}, p90", p90, unit),
    ]


def show(figures: Sequence[Figure]) -> list[Figure]:
    """Print figures as soon as they are there; the same figures."""
    for one in figures:
        print(f"  {one.name}: {one.value:.4g} {one.unit}  {one.note}".rstrip(), flush=True)
    return list(figures)


def publish(name: str, figures: Sequence[Figure], as_json: bool, **more: Any) -> None:
    """Print the figures and what they were taken on; with ``as_json`` keep them, with everything in ``more``."""
    surroundings = machine()
    print("  ".join(f"{key} {value}" for key, value in surroundings.items()))
    print(
        "\n".join(
            table(("figure", "value", "unit", "target", "of target", "note"), [_row(one) for one in figures], (1, 3, 4))
        )
    )
    if as_json:
        RESULTS.mkdir(exist_ok=True)
        content = {"benchmark": name, **surroundings, "figures": list(map(dataclasses.asdict, figures)), **more}
        (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def machine() -> dict[str, str]:
    """The machine, its load, the versions, the date."""
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "machine": f"{_processor()}, {os.cpu_count()} cores",
        "load": f"{os.getloadavg()[0]:.1f}",
        "system": platform.platform(),
        "python": platform.python_version(),
        "pkwb": __version__,
        **{package: version(package) for package in _PACKAGES if find_spec(package)},
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _row(figure: Figure) -> tuple[str, ...]:
    share = "" if not figure.target else f"{figure.value / figure.target:.0%}"
    target = "" if figure.target is None else f"{figure.target:g}"
    return figure.name, f"{figure.value:.4g}", figure.unit, target, share, figure.note
