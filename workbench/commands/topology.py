"""``pkwb topology``: where the ranks run and how they are linked."""

from __future__ import annotations

import argparse
import shutil
import sys

from workbench.commands.arguments import add_flags, add_json, flag_values
from workbench.devices import choose_device
from workbench.settings import load_settings
from workbench.topology.detect import detect
from workbench.topology.draw import draw
from workbench.topology.model import to_json

_WIDEST = 120


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_flags(parser, "ranks.world", "ranks.device")
    add_json(parser, "print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print the topology of the ranks on this machine."""
    settings = load_settings(flag_values(arguments))
    topology = detect(
        settings.ranks.world, choose_device(settings.ranks.device, settings.ranks.world, settings.ranks.python)
    )
    if arguments.json:
        print(to_json(topology))
        return 0
    plain = (sys.stdout.encoding or "ascii").lower() not in ("utf-8", "utf8")
    print("\n".join(draw(topology, min(shutil.get_terminal_size().columns, _WIDEST), ascii=plain)))
    return 0
