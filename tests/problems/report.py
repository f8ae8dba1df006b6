"""``python -m tests.problems.report [NUMBER ...]``: measure every variant of the problems, print what came out.

Without numbers (``make problems-report``) all problems are measured, and ``recorded.json`` and ``docs/problems.md`` are
written anew.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from problems.loader import catalogue, load_problem
from problems.model import Problem
from tests.problems.checks import MARGIN, ROOM, Measured, faults, measured
from tests.program import ROOT
from tests.variants import HONEST, NAMES, not_applicable

RECORDED = Path(__file__).with_name("recorded.json")
PAGE = Path(ROOT) / "docs" / "problems.md"
Margins = dict[str, dict[str, float]]
"""By case (problem, ranks, dtype) and variant: error over tolerance."""


def margins(cases: Iterable[Measured]) -> Margins:
    """The figure of each variant that decides."""
    return {
        case.label: {name: _rounded(case.margin(name)) for name in case.names if _counts(case, name)} for case in cases
    }


def _counts(case: Measured, name: str) -> bool:
    return name != "float16" or case.binding.dtype == "float32"


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def worse(now: Margins, then: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What changed for the worse since the figures were recorded."""
    found = [f"{label}: not measured any more" for label in then if label not in now]
    for label, recorded in then.items():
        for name, old in recorded.items() if label in now else ():
            new = now[label].get(name)
            if new is None:
                found.append(f"{label}: {name} is not tried any more")
            elif new > old * 1.5 + 0.05 if name in HONEST else new < min(old, 100 * MARGIN) * 0.7:
                found.append(f"{label}: {name} went from {old:g} to {new:g} tolerances")
    return found


def page(found: Mapping[str, Mapping[str, float]], problems: Sequence[Problem]) -> str:
    """The page of docs."""
    rows = [_row(problem, found) for problem in problems]
    names = NAMES
    head = ["problem", "rule", *(name.replace("_", " ") for name in names)]
    table = [head, ["---"] * len(head), *rows]
    return _INTRODUCTION + "\n".join(f"| {' | '.join(row)} |" for row in table) + "\n"


def _row(problem: Problem, found: Mapping[str, Mapping[str, float]]) -> list[str]:
    cases = {label: values for label, values in found.items() if label.startswith(f"{problem.stem} ")}
    rules = dict.fromkeys(problem.rule(output) for output in problem.outputs if output.kind in ("tensor", "tensors"))
    return [problem.stem, ", ".join(rules), *(_cell(problem, name, list(cases.values())) for name in NAMES)]


def _cell(problem: Problem, name: str, cases: Sequence[Mapping[str, float]]) -> str:
    values = [case[name] for case in cases if name in case]
    if not values:
        return "-"
    if name in HONEST:
        return f"ok {max(values):.2g}"
    least = min(values)
    verdict = "contract" if name == "mutates_input" else "wrong"
    return verdict if math.isinf(least) else f"{verdict} {least:.3g}"


_INTRODUCTION = f"""# What each problem's check tells apart

Every row is measured by `make problems-report`: the variants run on gloo ranks at the smoke size, P = 2 and 4 (where
the problem allows it), in bfloat16 and float32, on two judged trials (honest ones on a stock trial too), with the
judge's own draws and comparison. A figure is error over tolerance: honest variants show the largest, at most {ROOM:g}
passes the check; wrong ones show the least, at least {MARGIN:g}; no figure means that the values must be equal, or
that the form is another one. `-`: the variant makes no sense there, because nothing is rounded or summed, every rank's
result is the same, or no communication is needed at 2 or 4 ranks. `stale` returns the result of the call before,
`unchanged` the arguments, `one rank wrong` is right on all ranks but one, `other rank` is the next rank's result,
`float16` went through float16 in a float32 run, `mutates input` is right and writes to an argument.

"""


def main(arguments: Sequence[str]) -> int:
    """Print every case; 1 when something is wrong."""
    numbers = {int(argument) for argument in arguments}
    problems = [load_problem(entry.folder) for entry in catalogue() if not numbers or entry.number in numbers]
    with tempfile.TemporaryDirectory() as folder:
        cases = list(measured(Path(folder), problems, limit=1800 if not numbers else 240))
    bad = [fault for case in cases for fault in faults(case)]
    for case in cases:
        _print(case)
    print(*bad or ["all is well"], sep="\n")
    if not numbers:
        found = margins(cases)
        RECORDED.write_text(json.dumps(found, indent=1) + "\n")
        PAGE.write_text(page(found, problems))
    return 1 if bad else 0


def _print(case: Measured) -> None:
    errors = "  ".join(f"{name} {case.margin(name):.3g}" for name in case.names)
    oracle = max(max(rank["oracle"]) for rank in case.ranks)
    print(f"{case.label}: {case.most('seconds') * 1e3:.1f} ms, oracle {oracle:.2g}\n    {errors}")
    left = {name: not_applicable(case.problem, name, case.binding.world) for name in NAMES if name not in case.names}
    print("".join(f"    not tried: {name}: {reason}\n" for name, reason in left.items()), end="")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
