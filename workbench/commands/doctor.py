"""``pkwb doctor``: what this machine means for pkwb."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from workbench.commands.arguments import add_json
from workbench.doctor import examine
from workbench.errors import InfraError
from workbench.tables import table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_json(parser, "print one JSON array")


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; exit code 3 if one of them is a problem."""
    findings = examine(Path.cwd())
    if arguments.json:
        print(json.dumps([dataclasses.asdict(finding) for finding in findings], indent=1))
    else:
        rows = [(finding.state, finding.name, f"{finding.value}: {finding.meaning}") for finding in findings]
        print("\n".join(table(("state", "what", "found, and what it means"), rows)))
    return InfraError.exit_code if any(finding.state == "problem" for finding in findings) else 0
