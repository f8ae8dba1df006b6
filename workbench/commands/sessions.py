"""``pkwb sessions``: earlier attempts."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from problems.loader import catalogue, find_entry
from sessions.export import attempt_document, export_attempt, export_sitting
from sessions.model import Attempt, Sitting
from sessions.store import Store
from workbench.commands.arguments import add_json
from workbench.config import Settings
from workbench.errors import StoreError
from workbench.report import reason_text, safe, verdict_lines
from workbench.settings import load_settings
from workbench.source import read_source
from workbench.stores import open_store
from workbench.tables import table

_ATTEMPT_HEAD = ("id", "when", "problem", "status", "speedup", "ms", "ranks", "size", "dtype", "reason")
_SITTING_HEAD = ("sitting", "problem", "attempts", "ok", "best")
_NUMBERS = {len(_ATTEMPT_HEAD): (0, 4, 5, 6), len(_SITTING_HEAD): (2, 3, 4)}
"""Columns aligned to the right, by the number of columns."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, (help, declare, _) in _ACTIONS.items():
        declare(actions.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}."))


def run(arguments: argparse.Namespace) -> int:
    """Run one action on the session store."""
    settings = load_settings()
    store = open_store(settings, create=False, thorough=False)
    try:
        if store.problem_with:
            raise StoreError(store.problem_with)
        for line in _ACTIONS[arguments.action][2](store, settings, arguments):
            print(line)
    finally:
        store.close()
    return 0


def _declare_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("problem", nargs="?", metavar="PROBLEM", help="only attempts on this problem")
    parser.add_argument("--sittings", action="store_true", help="one line a run of pkwb instead of one an attempt")
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="lines at most (default: 50)")
    add_json(parser, "print one JSON array")


def _list(store: Store, settings: Settings, arguments: argparse.Namespace) -> list[str]:
    problem = _stem(arguments.problem, settings) if arguments.problem else None
    limit, sittings = arguments.limit, arguments.sittings
    found: Sequence[Attempt | Sitting] = store.sittings(limit) if sittings else store.attempts(problem, limit)
    if arguments.json:
        return [json.dumps([dataclasses.asdict(item) for item in found], indent=1)]
    if not found:
        print("pkwb: nothing is kept yet: `pkwb open` and `pkwb eval` keep every attempt", file=sys.stderr)
        return []
    head = _SITTING_HEAD if sittings else _ATTEMPT_HEAD
    return table(head, [_row(item) for item in found], right=_NUMBERS[len(head)])


def _row(item: Attempt | Sitting) -> tuple[str, ...]:
    return _attempt_row(item) if isinstance(item, Attempt) else _sitting_row(item)


def _stem(name: str, settings: Settings) -> str:
    return find_entry(name, catalogue(settings.problems.paths, settings.problems.pkb)).stem


def _attempt_row(attempt: Attempt) -> tuple[str, ...]:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(attempt.started))
    speedup = f"{attempt.speedup.median:.2f}x" if attempt.speedup else "-"
    speedup += f" {attempt.manner}" if attempt.speedup and attempt.manner else ""
    elapsed = f"{attempt.candidate_ms:.3f}" if attempt.candidate_ms is not None else "-"
    place = (str(attempt.world), attempt.size, attempt.dtype)
    reason = reason_text(attempt.reason)
    return (str(attempt.id), when, attempt.problem, attempt.status, speedup, elapsed, *place, reason[:60])


def _sitting_row(sitting: Sitting) -> tuple[str, ...]:
    best = f"{sitting.best:.2f}x" if sitting.best is not None else "-"
    return (sitting.name, sitting.problem, str(sitting.attempts), str(sitting.ok), best)


def _declare_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=int, metavar="ID", help="an attempt's id, as `pkwb sessions list` shows it")
    parser.add_argument("--source", action="store_true", help="print the source only")
    add_json(parser, "print one JSON object with attempt, source and verdict")


def _show(store: Store, settings: Settings, arguments: argparse.Namespace) -> list[str]:
    document = attempt_document(store, arguments.id)
    if arguments.json:
        return [json.dumps(document, indent=1)]
    source: list[str] = document["source"].splitlines()
    if arguments.source:
        return source
    head = table(_ATTEMPT_HEAD[:-1], [_attempt_row(store.attempt(arguments.id))[:-1]])
    return [*head, *_proposed(document), "", *verdict_lines(document["verdict"]), "", *source]


def _proposed(document: dict[str, Any]) -> list[str]:
    """Who proposed it, where that was a language model."""
    model, proposal = document["attempt"]["model"], document["proposal"]
    if not model:
        return []
    if proposal is None:
        return safe([f"proposed by {model}"])
    cost = f", ${proposal['cost']:.4f}" if proposal["cost"] is not None else ""
    place = f"{proposal['run']}, sample {proposal['sample']}, proposal {proposal['step']}"
    return safe(
        [f"proposed by {model} ({place}; {proposal['tokens_in']:,} tokens in, {proposal['tokens_out']:,} out{cost})"]
    )


def _declare_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("what", metavar="ID|SITTING", help="an attempt's id or a sitting's name")
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="a new folder")


def _export(store: Store, settings: Settings, arguments: argparse.Namespace) -> list[str]:
    if arguments.what.isdecimal():
        return [str(export_attempt(store, int(arguments.what), arguments.folder))]
    return [str(export_sitting(store, arguments.what, arguments.folder))]


def _declare_diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", type=int, metavar="ID", help="an attempt's id")
    parser.add_argument("other", nargs="?", metavar="ID|FILE", help="another attempt or a file (default: its own file)")


def _diff(store: Store, settings: Settings, arguments: argparse.Namespace) -> list[str]:
    old, old_name, path = _version(store, str(arguments.id))
    new, new_name, _ = _version(store, arguments.other or path)
    return list(difflib.unified_diff(old.splitlines(), new.splitlines(), old_name, new_name, lineterm=""))


def _version(store: Store, what: str) -> tuple[str, str, str]:
    """Text, name and path of an attempt's source or a file."""
    if not what.isdecimal():
        return read_source(Path(what), allow_empty=True).text, what, what
    attempt = store.attempt(int(what))
    return store.source(attempt.digest), f"attempt {attempt.id}", attempt.path


_Declare = Callable[[argparse.ArgumentParser], None]
_Do = Callable[[Store, Settings, argparse.Namespace], list[str]]
_ACTIONS: dict[str, tuple[str, _Declare, _Do]] = {
    "list": ("list attempts, newest first", _declare_list, _list),
    "show": ("print an attempt's verdict and source", _declare_show, _show),
    "diff": ("compare an attempt's source with another one or a file", _declare_diff, _diff),
    "export": ("write an attempt or a whole sitting into a folder", _declare_export, _export),
}
