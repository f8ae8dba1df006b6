"""``pkwb open``: the workbench itself, on a problem or on the one opened last."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from workbench.commands.arguments import TARGET_KEYS, add_flags, add_problem, flag_values
from workbench.config import Settings
from workbench.errors import UsageError
from workbench.resolve import ensure_working_file, resolve_target
from workbench.settings import load_settings
from workbench.stores import look_into_store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_problem(parser, nargs="?")
    parser.add_argument("--file", type=Path, help="working file (default: solutions_<backend>/<name>_<backend>.py)")
    parser.add_argument("--root", type=Path, help="folder of the working files (default: the current one)")
    add_flags(parser, *TARGET_KEYS, "ui.layout")


def run(arguments: argparse.Namespace) -> int:
    """Open the workbench; returns when the user quits."""
    flags = flag_values(arguments)
    settings = load_settings(flags)
    problem = arguments.problem or _last_problem(settings)
    target = resolve_target(problem, settings, arguments.file, arguments.root, "run.dtype" not in flags)
    _require_terminal(problem)
    ensure_working_file(target)
    from workbench.app import run_app

    return run_app(target, settings)


def _last_problem(settings: Settings) -> str:
    store = look_into_store(settings)
    try:
        problem = store.last_opened()
    finally:
        store.close()
    if problem is None:
        raise UsageError("name a problem, for example `pkwb open 1`: `pkwb list` shows all")
    return problem


def _require_terminal(problem: str) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(f"`pkwb open` needs a terminal; without one, use `pkwb eval {problem} FILE`")
    if os.environ.get("TERM", "") in ("", "dumb"):
        raise UsageError("this terminal cannot draw a screen (TERM is empty or dumb): set TERM, or use `pkwb eval`")
