"""The reference as its own candidate, again and again: in how many attempts does the 95% interval cover 1.0?"""

from __future__ import annotations

import statistics
from typing import Any

from benchmarks.report import Figure, parser, publish, spread
from problems.loader import find_problem
from tests.flow.sitting import Sitting
from workbench.events import Verdict

EXPECTED = 0.95


def judge(problem: str, runs: int, samples: int, **where: Any) -> list[Verdict]:
    """The verdicts on so many copies of the reference, each with a text of its own; ``where`` as Sitting takes it."""
    found = find_problem(problem, [])
    sitting = Sitting(found, dtype=found.dtypes[0], trials=1, samples=samples, **where)
    verdicts = [sitting.judge(f"{found.reference_source()}\n# copy {run}\n") for run in range(runs)]
    sitting.close()
    return verdicts


def main() -> None:
    """Run it and print the figures."""
    arguments = parser("Honesty of the speedup's interval.")
    arguments.add_argument("--problem", default="1")
    arguments.add_argument("--runs", type=int, default=20)
    arguments.add_argument("--samples", type=int, default=100)
    chosen = arguments.parse_args()
    verdicts = judge(chosen.problem, chosen.runs, chosen.samples)
    ratios = [verdict.speedup for verdict in verdicts if verdict.speedup is not None]
    covered = sum(not ratio.differs for ratio in ratios)
    figures = [
        Figure("attempts", len(verdicts), ""),
        Figure("not judged ok", len(verdicts) - len(ratios), "", 0),
        Figure("interval covers 1.0", covered / max(1, len(ratios)), "of 1", note=f"{EXPECTED:.0%} expected"),
        Figure("median of the speedups", statistics.median(ratio.median for ratio in ratios), "x"),
    ]
    figures += spread(
        "width of the interval", [high - low for low, high in filter(None, (ratio.interval for ratio in ratios))], "x"
    )
    rows = [{"median": ratio.median, "low": ratio.low, "high": ratio.high} for ratio in ratios]
    for verdict in verdicts:
        print(verdict.status, verdict.speedup, verdict.reason)
    publish("baseline_as_candidate", figures, chosen.json, problem=chosen.problem, ratios=rows)


if __name__ == "__main__":
    main()
