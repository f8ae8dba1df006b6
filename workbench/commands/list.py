"""``pkwb list``: the problems, with the best attempt on each."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from problems.loader import Entry, catalogue
from sessions.model import Attempt
from workbench.commands.arguments import add_json
from workbench.config import Settings
from workbench.errors import UsageError
from workbench.settings import load_settings
from workbench.stores import look_into_store
from workbench.tables import table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--group", metavar="TEXT", help="only groups whose name contains this text")
    add_json(parser, "print one JSON array")


def run(arguments: argparse.Namespace) -> int:
    """Print one line a problem."""
    settings = load_settings()
    entries = _chosen(catalogue(settings.problems.paths), arguments.group)
    best = _best(settings)
    if arguments.json:
        print(json.dumps([_record(entry, best.get(entry.stem)) for entry in entries], indent=1))
        return 0
    rows = [_row(entry, best.get(entry.stem)) for entry in entries]
    print("\n".join(table(("no", "name", "group", "parallelism", "best"), rows, right=(0,))))
    return 0


def _chosen(entries: list[Entry], group: str | None) -> list[Entry]:
    if group is None:
        return entries
    chosen = [entry for entry in entries if group.lower() in entry.group.lower()]
    if not chosen:
        groups = ", ".join(sorted({entry.group for entry in entries}))
        raise UsageError(f"no group contains {group!r}; groups are: {groups}")
    return chosen


def _best(settings: Settings) -> dict[str, Attempt]:
    store = look_into_store(settings)
    try:
        return store.best_by_problem()
    finally:
        store.close()


def _row(entry: Entry, best: Attempt | None) -> tuple[str, ...]:
    speedup = "" if best is None else "ok" if best.speedup is None else f"{best.speedup.median:.2f}x"
    return (str(entry.number), _name(entry), entry.group, ", ".join(entry.parallelism), speedup)


def _name(entry: Entry) -> str:
    return entry.stem.partition("_")[2] or entry.stem


def _record(entry: Entry, best: Attempt | None) -> dict[str, Any]:
    found = {
        "number": entry.number,
        "stem": entry.stem,
        "title": entry.title,
        "group": entry.group,
        "parallelism": list(entry.parallelism),
        "folder": str(Path(entry.folder)),
    }
    speedup = best.speedup.median if best and best.speedup else None
    return {**found, "best": {"attempt": best.id, "speedup": speedup} if best else None}
