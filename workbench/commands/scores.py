"""``pkwb scores``: pass@k and fast_p of language models over the session store, beside published figures."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from problems.loader import catalogue
from workbench.commands.arguments import add_json
from workbench.config import Settings
from workbench.errors import StoreError, UsageError
from workbench.llm.curves import curve_lines
from workbench.llm.published import AGENTIC, PROBLEMS, PUBLISHED, SOURCE, TRIES
from workbench.llm.scores import CURVE, Row, Score, rows, samples_of
from workbench.report import safe
from workbench.settings import load_settings
from workbench.stores import open_store
from workbench.tables import table

_HEAD = ("model", "backend", "feedback", "ranks", "problems", "samples")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--by", choices=("problem", "group"), help="a line for each problem or group too")
    parser.add_argument("--k", default="1,3", metavar="LIST", help="tries of pass@k and fast_p@k (default: 1,3)")
    parser.add_argument("--p", default="1", metavar="LIST", help="speedups of fast_p, as 1,1.5,2 (default: 1)")
    parser.add_argument(
        "--steps",
        type=int,
        default=0,
        metavar="N",
        help="count the first N proposals of each sample (default: all)",
    )
    parser.add_argument(
        "--sure", action="store_true", help="count the lower end of each speedup's interval, not its median"
    )
    add_json(parser, "print one JSON object with rows, curves and published figures")


def run(arguments: argparse.Namespace) -> int:
    """Print the table and the curve."""
    settings = load_settings()
    ks = _numbers(arguments.k, "--k", int, 1)
    ps = _numbers(arguments.p, "--p", float, 0.0)
    samples = samples_of(_outcomes(settings), arguments.steps, arguments.sure)
    whole = rows(samples, ks, (0.0, *ps))
    parts = rows(samples, ks, (0.0, *ps), _part_of(arguments.by, settings)) if arguments.by else []
    if arguments.json:
        print(json.dumps(_document(whole, parts), indent=1))
        return 0
    if not whole:
        print("pkwb: no model has proposed anything yet: `pkwb solve PROBLEM --model M` does", file=sys.stderr)
    print("\n".join(safe([*_tables(whole, parts), *curve_lines(whole), "", *_published()])))
    return 0


def _numbers(text: str, flag: str, kind: Callable[[str], Any], least: float) -> tuple[Any, ...]:
    try:
        found = tuple(kind(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(least <= number < float("inf") for number in found):
        raise UsageError(f"{flag} {text}: give numbers of at least {least:g} with commas between them, as 1,3")
    return found


def _outcomes(settings: Settings) -> list[Any]:
    from sessions.solves import Solves

    store = open_store(settings, create=False, thorough=False)
    try:
        if store.problem_with:
            raise StoreError(store.problem_with)
        return Solves(store).outcomes()
    finally:
        store.close()


def _part_of(by: str, settings: Settings) -> Callable[[str], str]:
    if by == "problem":
        return lambda stem: stem
    groups = {entry.stem: entry.group for entry in catalogue(settings.problems.paths, settings.problems.pkb)}
    return lambda stem: groups.get(stem, "unknown")


def _tables(whole: Sequence[Row], parts: Sequence[Row]) -> list[str]:
    lines: list[str] = []
    for found, extra in ((whole, ()), (parts, ("part",))):
        if found:
            lines += [*_table(found, extra), ""]
    return lines


def _table(found: Sequence[Row], extra: tuple[str, ...]) -> list[str]:
    head = (*_HEAD[:4], *extra, *_HEAD[4:], *(_score_name(score) for score in found[0].scores))
    numbers = tuple(range(4 + len(extra), len(head)))
    return table(head, [_cells(row, extra) for row in found], right=numbers)


def _cells(row: Row, extra: tuple[str, ...]) -> tuple[str, ...]:
    one = row.condition
    parts = (row.part,) if extra else ()
    counts = (str(row.problems), str(row.samples))
    return (one.model, one.backend, one.feedback, one.place, *parts, *counts, *(_share(s, row) for s in row.scores))


def _score_name(score: Score) -> str:
    return f"pass@{score.k}" if score.p <= 0 else f"fast_{score.p:g}@{score.k}"


def _share(score: Score, row: Row) -> str:
    """``32.2%``, with the number of problems where not all have enough samples."""
    if score.value is None:
        return "-"
    return f"{score.value:.1%}{f' of {score.problems}' if score.problems < row.problems else ''}"


def _published() -> list[str]:
    names = [f"{name}@{k}" for name in ("pass", "fast_1") for k in TRIES]
    lines = [
        (one.model, *(f"{count} ({count / PROBLEMS:.1%})" for count in (*one.correct, *one.faster)))
        for one in PUBLISHED
    ]
    return [f"Published: {SOURCE}.", *table(("model", *names), lines, right=(1, 2, 3, 4)), f"Also: {AGENTIC}."]


def _document(whole: Sequence[Row], parts: Sequence[Row]) -> dict[str, Any]:
    return {
        "rows": [dataclasses.asdict(row) for row in whole],
        "parts": [dataclasses.asdict(row) for row in parts],
        "curve_p": CURVE,
        "published": {
            "source": SOURCE,
            "problems": PROBLEMS,
            "k": TRIES,
            "rows": [dataclasses.asdict(one) for one in PUBLISHED],
            "agentic": AGENTIC,
        },
    }
