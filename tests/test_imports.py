"""What each entry point loads: quick commands load little, and no process with a screen loads torch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.program import script
from workbench.cli import COMMANDS

HEAVY = {"textual", "rich", "numpy", "torch", "pygments", "watchdog", "litellm"}
"""What a command that answers at once must not load."""

COMMAND = """
import contextlib, io, json, sys
from workbench.cli import main
with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
    main(sys.argv[1:])
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""

WORKBENCH = """
import json, sys
import workbench.app, workbench.doctor
import workbench.flow.engine, workbench.flow.watch, workbench.flow.telemetry
import workbench.commands.open, workbench.commands.eval, workbench.commands.topology, workbench.commands.sessions
import workbench.commands.bench, workbench.flow.links
import workbench.commands.prompt, workbench.commands.solve, workbench.commands.scores
import workbench.llm.prompt, workbench.llm.loop, workbench.llm.client, workbench.llm.judging
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""

EVAL = """
import contextlib, io, json, sys
from workbench.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    assert main(["eval", "1", sys.argv[1], "--size", "smoke"]) == 0
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def loaded(text: str, *arguments: str, cwd: Path) -> set[str]:
    """The top-level modules that code has loaded when it ends."""
    process = script(text, *arguments, cwd=cwd)
    output, _ = process.communicate(timeout=100)
    assert process.returncode == 0
    return set(json.loads(output.splitlines()[-1]))


QUICK = ["--help", "--version", "list", "list --json", "show 1", *(f"{name} --help" for name in COMMANDS)]


@pytest.mark.parametrize("command", QUICK)
def test_quick_commands_load_little(command: str, tmp_path: Path) -> None:
    """Help, list and show load no screen, no numbers, no torch, so that they answer at once."""
    assert not loaded(COMMAND, *command.split(), cwd=tmp_path) & HEAVY


def test_workbench_loads_no_torch(tmp_path: Path) -> None:
    """Everything that the process with the screen may load comes without torch and litellm."""
    assert not loaded(WORKBENCH, cwd=tmp_path) & {"torch", "litellm"}


def test_judging_loads_no_torch_and_no_screen(tmp_path: Path) -> None:
    """A whole attempt, timing included, loads neither torch nor a screen into the process that decides."""
    reference = Path(__file__).resolve().parent.parent / "problems" / "001_allreduce" / "reference.py"
    assert not loaded(EVAL, str(reference), cwd=tmp_path) & {"torch", "litellm", "textual"}
