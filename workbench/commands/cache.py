"""``pkwb cache``: libraries that were built and are kept."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING

from workbench.commands.arguments import add_json
from workbench.settings import load_settings
from workbench.tables import table

if TYPE_CHECKING:
    from workbench.build.cache import Cache

_MEGABYTE = 1e6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "what",
        metavar="show|clear",
        choices=("show", "clear"),
        nargs="?",
        default="show",
        help="show what is kept (default), or clear: remove all of it",
    )
    add_json(parser, "print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Show or clear."""
    from workbench.build.cache import Cache
    from workbench.flow.builder import GIGABYTE, build_cache

    limit = load_settings().build.cache
    cache = Cache(build_cache(), int(limit * GIGABYTE))
    return _clear(cache, arguments.json) if arguments.what == "clear" else _show(cache, limit, arguments.json)


def _clear(cache: Cache, as_json: bool) -> int:
    count = len(cache.entries())
    freed = cache.clear()
    words = f"removed {count} files, {freed / _MEGABYTE:.1f} MB, from {cache.folder}"
    print(json.dumps({"removed": count, "bytes": freed, "folder": str(cache.folder)}) if as_json else words)
    return 0


def _show(cache: Cache, limit: float, as_json: bool) -> int:
    entries = list(reversed(cache.entries()))
    total = sum(entry.size for entry in entries)
    if as_json:
        kept = [
            {"key": entry.key, "name": entry.name, "made_by": entry.made_by, "bytes": entry.size, "used": entry.used}
            for entry in entries
        ]
        facts = {"folder": str(cache.folder), "bytes": total, "limit_bytes": int(limit * 1e9), "entries": kept}
        print(json.dumps(facts))
        return 0
    rows = [
        (entry.name, entry.made_by, f"{entry.size / _MEGABYTE:.2f}", time.strftime("%F %T", time.localtime(entry.used)))
        for entry in entries
    ]
    head = ("name", "made by", "MB", "last used")
    print("\n".join([*(table(head, rows, right=(2,)) if rows else []), _total(len(entries), total, limit, cache)]))
    return 0


def _total(count: int, total: int, limit: float, cache: Cache) -> str:
    return f"{count} files, {total / _MEGABYTE:.1f} MB of at most {limit:g} GB, in {cache.folder}"
