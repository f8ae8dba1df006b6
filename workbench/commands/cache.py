"""``pkwb cache``: what was built and is kept, libraries and raw kernels."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import TYPE_CHECKING

from workbench.commands.arguments import add_json
from workbench.errors import UsageError
from workbench.report import safe
from workbench.settings import load_settings
from workbench.tables import table

if TYPE_CHECKING:
    from workbench.build.cache import Cache, Entry

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
    from workbench.build.kernel_files import kernel_files
    from workbench.flow.builder import GIGABYTE, build_cache
    from workbench.flow.zygote import kernel_cache

    limit = load_settings().build.cache
    cache = Cache(build_cache(), int(limit * GIGABYTE))
    entries = sorted([*cache.entries(), *kernel_files(kernel_cache())], key=lambda entry: entry.used, reverse=True)
    if arguments.what == "clear":
        return _clear(cache, len(entries), arguments.json)
    return _show(cache, entries, limit, arguments.json)


def _clear(cache: Cache, count: int, as_json: bool) -> int:
    from workbench.build.kernel_files import clear_kernel_files, kernel_files
    from workbench.flow.zygote import kernel_cache

    freed = cache.clear() + clear_kernel_files(kernel_cache())
    left = len(cache.entries()) + len(kernel_files(kernel_cache()))
    words = f"removed {count - left} files, {freed / _MEGABYTE:.1f} MB, from {cache.folder} and {kernel_cache()}"
    facts = {"removed": count - left, "bytes": freed, "folder": str(cache.folder), "kernels": str(kernel_cache())}
    print(json.dumps(facts) if as_json else words)
    if left:
        print(f"pkwb: {left} files could not be removed: check the rights of these folders", file=sys.stderr)
    return UsageError.exit_code if left else 0


def _show(cache: Cache, entries: list[Entry], limit: float, as_json: bool) -> int:
    from workbench.flow.zygote import kernel_cache

    total = sum(entry.size for entry in entries)
    if as_json:
        kept = [
            {"key": entry.key, "name": entry.name, "made_by": entry.made_by, "bytes": entry.size, "used": entry.used}
            for entry in entries
        ]
        facts = {"folder": str(cache.folder), "kernels": str(kernel_cache()), "bytes": total}
        print(json.dumps({**facts, "limit_bytes": int(limit * 1e9), "entries": kept}))
        return 0
    rows = [
        (entry.name, entry.made_by, f"{entry.size / _MEGABYTE:.2f}", time.strftime("%F %T", time.localtime(entry.used)))
        for entry in entries
    ]
    head = ("name", "made by", "MB", "last used")
    words = f"{len(entries)} files, {total / _MEGABYTE:.1f} MB"
    where = f"libraries in {cache.folder}, at most {limit:g} GB; raw kernels (NVRTC) in {kernel_cache()}"
    lines = [*(table(head, rows, right=(2,)) if rows else []), f"{words}: {where}"]
    print("\n".join(safe(lines)))
    return 0
