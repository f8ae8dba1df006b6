"""``pkwb open``: the workbench itself, on a problem or with the list of all."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from problems.loader import catalogue
from workbench.commands.arguments import TARGET_KEYS, add_flags, add_problem, flag_values
from workbench.errors import UsageError
from workbench.resolve import Opener, ensure_working_file
from workbench.settings import load_settings
from workbench.target import Target

_LLM_KEYS = tuple(
    f"llm.{name}" for name in ("model", "api_base", "feedback", "steps", "target", "budget_usd", "require")
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_problem(parser, nargs="?")
    parser.add_argument("--file", type=Path, help="working file (default: solutions_<backend>/<name>_<backend>.py)")
    parser.add_argument("--root", type=Path, help="folder of the working files (default: the current one)")
    add_flags(parser, *TARGET_KEYS, "ui.layout", *_LLM_KEYS)


def run(arguments: argparse.Namespace) -> int:
    """Open the workbench; returns when the user quits."""
    flags = flag_values(arguments)
    settings = load_settings(flags)
    opener = Opener(settings, arguments.root, "run.dtype" not in flags)
    target = _target(opener, arguments)
    _require_terminal(arguments.problem or "PROBLEM")
    if target is not None:
        ensure_working_file(target)
    from workbench.app import run_app

    return run_app(target, settings, opener, warm="llm.model" in flags)


def _target(opener: Opener, arguments: argparse.Namespace) -> Target | None:
    """What is opened at once; None where the user is to choose from the list of problems."""
    if arguments.problem:
        return opener.target(arguments.problem, arguments.file)
    if arguments.file is not None:
        raise UsageError("name the problem that --file belongs to, for example `pkwb open 1 --file kernel.py`")
    catalogue(opener.settings.problems.paths, opener.settings.problems.pkb)
    return None


def _require_terminal(problem: str) -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(f"`pkwb open` needs a terminal; without one, use `pkwb eval {problem} FILE`")
    if os.environ.get("TERM", "") in ("", "dumb"):
        raise UsageError("this terminal cannot draw a screen (TERM is empty or dumb): set TERM, or use `pkwb eval`")
