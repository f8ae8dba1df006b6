"""``pkwb eval``: judge files without the screen, over the same flow as the workbench."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from workbench.commands.arguments import TARGET_KEYS, add_flags, add_json, add_problem, flag_values
from workbench.commands.solutions import ALL, Result, find_work, summary_lines, summary_record
from workbench.config import Settings
from workbench.errors import INTERRUPTED, UsageError
from workbench.evaluation import Evaluation
from workbench.events import Event, Notice, Verdict, to_dict, to_json
from workbench.report import progress_lines, verdict_lines
from workbench.resolve import Opener
from workbench.settings import load_settings
from workbench.source import read_source
from workbench.target import Target

_ENDINGS: dict[str, int] = {"ok": 0, "infra": 3, "unknown": 3, "cancelled": INTERRUPTED, "superseded": INTERRUPTED}
"""Exit codes by status; every other status is judged and not ok."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_problem(parser)
    parser.add_argument(
        "file", metavar="FILE", type=Path, nargs="?", help="Python file that defines solution(...) (default: as open)"
    )
    parser.add_argument(
        "--solutions",
        metavar="DIR",
        type=Path,
        help="judge all files of a folder that are named after the problem, or with `all` after any; prints a table",
    )
    add_flags(parser, *TARGET_KEYS, "run.trials")
    parser.add_argument("--no-perf", action="store_true", help="judge the results only, time nothing")
    add_json(parser, "print one event a line, the verdict last (with --solutions, a summary)")


def run(arguments: argparse.Namespace) -> int:
    """Judge the file or files; the exit code says how it ended."""
    flags = flag_values(arguments)
    settings = load_settings(flags)
    if arguments.no_perf:
        settings = dataclasses.replace(settings, run=dataclasses.replace(settings.run, samples=0))
    opener = Opener(settings, None, "run.dtype" not in flags)
    if arguments.solutions is not None:
        return _run_folder(arguments, opener)
    target = opener.target(arguments.problem, arguments.file)
    if arguments.file is None and not target.path.exists():
        raise UsageError(f"{target.path} does not exist; name the file that is to be judged")
    show = _print_json if arguments.json else _print_report
    verdicts = _evaluate(target, settings, [target.path], show)
    return INTERRUPTED if verdicts is None else _ENDINGS.get(verdicts[0].status, 1)


def _run_folder(arguments: argparse.Namespace, opener: Opener) -> int:
    if arguments.file is not None:
        raise UsageError("give either FILE or --solutions DIR")
    results: list[Result] = []
    for result in _judged(arguments, opener):
        if result is None:
            return INTERRUPTED
        results.append(result)
    if not results:
        raise UsageError("none of these problems can be judged like this")
    print(json.dumps(summary_record(results)) if arguments.json else "\n".join(summary_lines(results)), flush=True)
    codes = [_ENDINGS.get(result.status, 1) for result in results]
    return max((code for code in codes if code != INTERRUPTED), default=INTERRUPTED)


def _judged(arguments: argparse.Namespace, opener: Opener) -> Iterator[Result | None]:
    """Each file's result; None when interrupted. A problem's files are judged on the same warm ranks."""
    show = _print_json if arguments.json else _print_verdict
    for name, files in find_work(arguments.problem, arguments.solutions, opener.settings):
        target = _possible_target(name, opener, arguments.problem == ALL)
        if target is None:
            continue
        verdicts = _evaluate(target, opener.settings, files, show)
        if verdicts is None:
            yield None
            return
        for file, verdict in zip(files, verdicts, strict=True):
            yield Result(file, to_dict(verdict))


def _possible_target(name: str, opener: Opener, one_of_many: bool) -> Target | None:
    """The target; of many problems, one that cannot run on these ranks or in this dtype is told and left out."""
    try:
        return opener.target(name)
    except UsageError as error:
        if not one_of_many:
            raise
        print(f"pkwb: left out: {error}", file=sys.stderr)
        return None


def _evaluate(
    target: Target, settings: Settings, files: Sequence[Path], show: Callable[[Event], None]
) -> list[Verdict] | None:
    sources = [read_source(file) for file in files]
    return asyncio.run(Evaluation(target, settings, show, _print_late).run(sources))


def _print_late(event: Event) -> None:
    """After the verdict, the last line on stdout, only trouble is told."""
    if isinstance(event, Notice):
        _print_report(event)


def _print_json(event: Event) -> None:
    print(to_json(event), flush=True)


def _print_report(event: Event) -> None:
    if isinstance(event, Verdict):
        sys.stderr.flush()
        print("\n".join(verdict_lines(to_dict(event))), flush=True)
    else:
        for line in progress_lines(event):
            print(line, file=sys.stderr)


def _print_verdict(event: Event) -> None:
    """One line for each file of many."""
    if isinstance(event, Verdict):
        print(verdict_lines(_bare(to_dict(event)))[0], file=sys.stderr, flush=True)


def _bare(verdict: dict[str, Any]) -> dict[str, Any]:
    return {**verdict, "ranks": []}
