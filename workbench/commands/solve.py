"""``pkwb solve``: a language model proposes kernels, each is judged, and what matters is fed back."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.commands.arguments import TARGET_KEYS, add_flags, add_json, add_problem, flag_values
from workbench.config import LlmSettings, RunSettings, Settings
from workbench.errors import INTERRUPTED, StoreError, UsageError
from workbench.events import (
    Event,
    Notice,
    ProposalFinished,
    ProposalStarted,
    ProposalWaiting,
    ProposerChanged,
    SolveFinished,
    SolveStep,
    to_json,
)
from workbench.files import write_atomic
from workbench.llm.labels import check_required
from workbench.report import label_text, progress_lines, safe, speedup_text
from workbench.resolve import Opener
from workbench.settings import load_settings
from workbench.solving import Solving
from workbench.stores import open_store
from workbench.tables import table
from workbench.target import Target

if TYPE_CHECKING:
    from sessions.model import Solve

_LLM_KEYS = ("model", "api_base", "steps", "samples", "target", "budget_usd", "stall", "feedback", "require")
_TOLD = (ProposerChanged, ProposalStarted, ProposalWaiting, ProposalFinished, SolveStep, Notice)
"""Events that are told while it runs; the events of each attempt are for ``--json``."""
_HEAD = ("run", "when", "problem", "backend", "model", "feedback", "state", "reason")
_TROUBLE = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_problem(parser, nargs="?")
    add_flags(parser, *TARGET_KEYS, "run.trials", *(f"llm.{name}" for name in _LLM_KEYS))
    parser.add_argument("--remark", metavar="TEXT", default="", help="tell the model something with the first request")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the best version into a new file")
    parser.add_argument("--resume", metavar="RUN", help="go on with a run that was stopped or killed")
    parser.add_argument("--list", action="store_true", help="list the runs that are kept")
    add_json(parser, "print one event a line, the summary last")


def run(arguments: argparse.Namespace) -> int:
    """Run, or list runs; the exit code says whether a right version was found."""
    if arguments.list:
        return _list(arguments.json)
    if bool(arguments.problem) == bool(arguments.resume):
        raise UsageError("give either PROBLEM or --resume RUN; `pkwb solve --list` shows the runs")
    if arguments.output is not None and arguments.output.exists():
        raise UsageError(f"{arguments.output} exists already: name a new file for the best version")
    settings, target, solve = _resumed(arguments) if arguments.resume else _new(arguments)
    check_required(settings.llm.require)
    show = _print_json if arguments.json else _print_line
    solving = Solving(target, settings, show, arguments.remark, solve)
    finished = asyncio.run(solving.run())
    if finished is None:
        return INTERRUPTED
    if not solving.kept and arguments.output is None:
        arguments.output = Path(f"{finished.run}.py")  # it would be lost
    _conclude(finished, solving.best, arguments)
    return _exit_code(finished)


def _new(arguments: argparse.Namespace) -> tuple[Settings, Target, None]:
    flags = flag_values(arguments)
    settings = load_settings(flags)
    return settings, Opener(settings, None, "run.dtype" not in flags).target(arguments.problem), None


def _resumed(arguments: argparse.Namespace) -> tuple[Settings, Target, Solve]:
    """As it was begun; flags of the call go first where they are about the model."""
    flags = flag_values(arguments)
    solve = _kept(arguments.resume, load_settings(flags))
    for name in ("model", "feedback"):
        begun = getattr(solve, name)
        if flags.get(f"llm.{name}", begun) != begun:
            raise UsageError(
                f"{solve.name} has --{name} {begun} to its end, so that scores can tell; begin another run"
            )
    ranks = {"ranks.world": solve.world, "ranks.device": solve.device}
    begun = {"run.backend": solve.backend, "run.size": solve.size, "run.dtype": solve.dtype, **ranks}
    settings = load_settings({**flags, **begun})
    sections = {name: _section(name, solve, {**flags, **begun}) for name in ("llm", "run")}
    settings = dataclasses.replace(settings, **sections)
    return settings, Opener(settings, None, False).target(solve.problem), solve


def _section(name: str, solve: Solve, flags: dict[str, Any]) -> Any:
    """A section of the settings as the run has it, with the flags of the call over it."""
    schema: Any = {"llm": LlmSettings, "run": RunSettings}[name]
    known = {field.name for field in dataclasses.fields(schema)}
    kept = {key: value for key, value in solve.options.get(name, {}).items() if key in known}
    given = {key.partition(".")[2]: value for key, value in flags.items() if key.startswith(f"{name}.")}
    return schema(**{**kept, **given})


def _kept(name: str, settings: Settings) -> Solve:
    from sessions.solves import Solves

    store = open_store(settings, create=False, thorough=False)
    try:
        if store.problem_with:
            raise StoreError(store.problem_with)
        return Solves(store).solve(name)
    finally:
        store.close()


def _conclude(finished: SolveFinished, best: str, arguments: argparse.Namespace) -> None:
    """The best version into its file, and for people the summary."""
    if arguments.output is not None and best:
        write_atomic(arguments.output, best)
    if not arguments.json:
        print("\n".join(safe(_summary(finished, arguments.output))), flush=True)


def _summary(finished: SolveFinished, output: Path | None) -> list[str]:
    lines = [f"{finished.problem}  {finished.model}  ended by {finished.ending}: {finished.reason}"]
    if finished.best_step:
        speedup = speedup_text(dataclasses.asdict(finished.best)) if finished.best else "right, not timed"
        label = label_text(finished)
        where = f"proposal {finished.best_step} of sample {finished.best_sample}"
        lines.append(f"best       {speedup} ({where}{label})")
        lines.append(f"source     {output or f'pkwb sessions show {finished.best_id} --source'}")
    lines.append(f"right      {finished.correct} of {finished.samples} samples")
    lines.append(f"used       ${finished.spent_usd:.4f}, {finished.tokens:,} tokens")
    if finished.ending in ("stopped", "trouble"):
        lines.append(f"go on      pkwb solve --resume {finished.run}")
    return lines


def _exit_code(finished: SolveFinished) -> int:
    codes = {"stopped": INTERRUPTED, "trouble": _TROUBLE}
    return codes.get(finished.ending, 0 if finished.correct else 1)


def _list(as_json: bool) -> int:
    from sessions.solves import Solves

    store = open_store(load_settings(), create=False, thorough=False)
    try:
        found = Solves(store).solves()
    finally:
        store.close()
    if as_json:
        print(json.dumps([dataclasses.asdict(solve) for solve in found], indent=1))
    elif found:
        print("\n".join(safe(table(_HEAD, [_row(solve) for solve in found]))))
    else:
        print("pkwb: no run is kept yet: `pkwb solve PROBLEM --model M` makes one", file=sys.stderr)
    return 0


def _row(solve: Any) -> tuple[str, ...]:
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(solve.started))
    return (
        solve.name, when, solve.problem, solve.backend, solve.model, solve.feedback, solve.state, solve.reason[:60]
    )  # fmt: skip


def _print_json(event: Event) -> None:
    print(to_json(event), flush=True)


def _print_line(event: Event) -> None:
    if isinstance(event, _TOLD):
        for line in progress_lines(event):
            print(line, file=sys.stderr, flush=True)
