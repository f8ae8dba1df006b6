"""``pkwb bench links``: measured bandwidth between ranks, kept as this machine's ceilings."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import re
import sys
from pathlib import Path

from workbench.commands.arguments import add_flags, add_json, flag_values
from workbench.devices import choose_device
from workbench.errors import INTERRUPTED, InfraError, PkwbError
from workbench.judge.links import LARGE, LinkReport, ceilings, store_ceilings
from workbench.links_text import links_text, size_text
from workbench.settings import load_settings
from workbench.stopping import unless_stopped

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_LEAST, _MOST = 2 << 10, 4 << 30
_STEP = 16
"""Kernels move 16 bytes at a time."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("what", metavar="links", choices=("links",), help="links: bandwidth between ranks")
    parser.add_argument(
        "--largest",
        metavar="SIZE",
        type=_size,
        default=0,
        help="largest message, for example 64M or 1G (default: 1G on GPUs, 256M on CPUs)",
    )
    add_flags(parser, "ranks.world", "ranks.device")
    add_json(parser, "print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Measure, print and keep; exit code 3 when data arrived damaged (no ceilings then), 130 when interrupted."""
    from workbench.flow.links import measure_links

    settings = load_settings(flag_values(arguments))
    device = choose_device(settings.ranks.device, settings.ranks.world, settings.ranks.python)
    report = asyncio.run(unless_stopped(measure_links(settings, device, arguments.largest, _tell)))
    if report is None:
        return INTERRUPTED
    kept = _keep(report)
    print(json.dumps(_plain(report, kept)) if arguments.json else "\n".join(links_text(report)))
    if kept:
        print(f"pkwb: kept as this machine's ceilings in {kept}", file=sys.stderr)
    if not report.verified:
        raise InfraError("data arrived damaged, see above: check the links and the GPUs' memory of this machine")
    return 0


def _tell(mechanism: str) -> None:
    print(f"pkwb: measuring {mechanism}", file=sys.stderr, flush=True)


def _keep(report: LinkReport) -> Path | None:
    """The file that holds the ceilings now; None, with the reason on stderr, where there are none or no cache."""
    why = f"they need messages of {size_text(LARGE)} or more that arrive undamaged"
    if ceilings(report.rates):
        try:
            return store_ceilings(report)
        except PkwbError as error:
            why = str(error)
    print(f"pkwb: no ceilings are kept: {why}", file=sys.stderr)
    return None


def _plain(report: LinkReport, kept: Path | None) -> dict[str, object]:
    found = [dataclasses.asdict(rate) for rate in ceilings(report.rates)]
    machine = report.key.machine
    return {**dataclasses.asdict(report), "machine": machine, "ceilings": found, "kept": str(kept) if kept else None}


def _size(text: str) -> int:
    """Bytes of ``64M``: K, M and G are powers of 1024."""
    found = re.fullmatch(r"(\d+)([KMG]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    count = int(found[1]) * _UNITS[found[2].upper()] if found else 0
    if not _LEAST <= count <= _MOST:
        raise argparse.ArgumentTypeError(f"{text} is no size from 2K to 4G, such as 64M")
    return count // _STEP * _STEP
