"""Arguments that commands share: PROBLEM, and flags made from the settings schema."""

from __future__ import annotations

import argparse
from typing import Any

from workbench.settings import Option, options

TARGET_KEYS = (
    "run.backend",
    "ranks.world",
    "ranks.device",
    "ranks.share_gpus",
    "run.size",
    "run.dtype",
    "run.cache",
    "run.graph",
    "run.protocol",
    "run.profile",
    "build.full",
    "problems.pkb",
    "topology.name",
)
"""Settings that say what is run; each has a flag."""
_METAVARS = {int: "N", float: "X", str: "TEXT"}


def add_problem(parser: argparse.ArgumentParser, **more: Any) -> None:
    """The positional PROBLEM."""
    parser.add_argument(
        "problem", metavar="PROBLEM", help="42, problem_42, 42_zero2_optimizer_shard_grad, or part of the name", **more
    )


def add_json(parser: argparse.ArgumentParser, help: str = "print JSON") -> None:
    """The flag --json."""
    parser.add_argument("--json", action="store_true", help=help)


def add_flags(parser: argparse.ArgumentParser, *keys: str) -> None:
    """The flags of settings, by their keys; not given, they leave the settings files in force."""
    known = options()
    for key in keys:
        _add_flag(parser, known[key])


def flag_values(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings given by flags, for :func:`workbench.settings.load_settings`."""
    return {key: value for key, value in vars(arguments).items() if key in options() and value is not None}


def _add_flag(parser: argparse.ArgumentParser, option: Option) -> None:
    if option.kind is bool:
        negatable = argparse.BooleanOptionalAction
        parser.add_argument(option.flag, dest=option.key, action=negatable, default=None, help=option.help)
        return
    default = option.default if option.default != "" else "empty"
    parser.add_argument(
        option.flag,
        dest=option.key,
        type=option.kind,
        choices=option.choices or None,
        metavar=None if option.choices else option.name.upper() if option.kind is str else _METAVARS[option.kind],
        help=f"{option.help} (default: {default})",
    )
