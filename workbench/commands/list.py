"""``pkwb list``: the problems, with the best attempt on each and when it was opened last."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from problems.loader import catalogue
from problems.matching import contains, matching, short_name
from problems.model import Entry
from sessions.model import Attempt, Standing
from workbench.commands.arguments import add_flags, add_json, flag_values
from workbench.errors import UsageError
from workbench.settings import load_settings
from workbench.stores import standings
from workbench.tables import table

_HEAD = ("no", "name", "group", "parallelism", "best", "opened", "collectives")
_FILTERS: Mapping[str, Callable[[Entry], tuple[str, ...]]] = {
    "group": lambda entry: (entry.group,),
    "parallelism": lambda entry: entry.parallelism,
    "collective": lambda entry: entry.collectives,
}
"""Flag and what it looks into."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("text", nargs="*", metavar="TEXT", help="only problems that this means, for example moe or 42")
    for name in _FILTERS:
        parser.add_argument(f"--{name}", metavar="TEXT", help=f"only problems with this text in their {name}")
    add_flags(parser, "problems.pkb")
    add_json(parser, "print one JSON array")


def run(arguments: argparse.Namespace) -> int:
    """Print one line a problem."""
    settings = load_settings(flag_values(arguments))
    entries = _chosen(catalogue(settings.problems.paths, settings.problems.pkb), arguments)
    known, trouble = standings(settings)
    if trouble:
        print(f"pkwb: {trouble}", file=sys.stderr)
    rows = [(entry, known.get(entry.stem, Standing())) for entry in entries]
    if arguments.json:
        print(json.dumps([_record(*row) for row in rows], indent=1))
    else:
        print("\n".join(map(_cut, table(_HEAD, [_row(*row) for row in rows], right=(0,)))))
    return 0


def _chosen(entries: list[Entry], arguments: argparse.Namespace) -> list[Entry]:
    for name, values in _FILTERS.items():
        wanted = getattr(arguments, name)
        if wanted is not None:
            entries = _narrowed(entries, name, values, wanted)
    text = " ".join(arguments.text)
    found = matching(entries, text)
    if not found:
        raise UsageError(f"no problem fits {text!r}; `pkwb list` shows all, with words to look for")
    return found


def _narrowed(entries: list[Entry], name: str, values: Callable[[Entry], tuple[str, ...]], text: str) -> list[Entry]:
    found = [entry for entry in entries if contains(values(entry), text)]
    if not found:
        known = ", ".join(sorted({value for entry in entries for value in values(entry)}))
        raise UsageError(f"no problem has {text!r} in its {name}; there are: {known}")
    return found


def _row(entry: Entry, standing: Standing) -> tuple[str, ...]:
    return (
        str(entry.number),
        short_name(entry),
        entry.group,
        ", ".join(entry.parallelism),
        _result(standing.best) if standing.best else "",
        "" if standing.opened is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(standing.opened)),
        ", ".join(entry.collectives),
    )


def _cut(line: str) -> str:
    """A line as a terminal has room for; whole for a file or another program."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else len(line)
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _result(best: Attempt) -> str:
    return f"{best.status} {best.speedup.median:.2f}x" if best.speedup else best.status


def _record(entry: Entry, standing: Standing) -> dict[str, Any]:
    return {
        "number": entry.number,
        "stem": entry.stem,
        "title": entry.title,
        "group": entry.group,
        "parallelism": list(entry.parallelism),
        "collectives": list(entry.collectives),
        "folder": str(entry.folder),
        "best": _best_record(standing.best) if standing.best else None,
        "opened": standing.opened,
    }


def _best_record(best: Attempt) -> dict[str, Any]:
    conditions = {name: getattr(best, name) for name in ("world", "device", "size", "dtype", "backend")}
    return {
        "attempt": best.id,
        "status": best.status,
        "speedup": best.speedup.median if best.speedup else None,
        **conditions,
    }
