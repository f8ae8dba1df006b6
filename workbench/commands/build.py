"""``pkwb build``: compile what a file will ask for, without ranks and without a device."""

from __future__ import annotations

import argparse
import ast
import asyncio
import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.commands.arguments import add_flags, add_json, flag_values
from workbench.config import Settings
from workbench.errors import INTERRUPTED, BuilderError, InfraError
from workbench.events import BuildFinished, Diagnostic, Event, EventStream, to_json
from workbench.report import build_text, progress_lines, safe
from workbench.settings import load_settings
from workbench.source import read_source
from workbench.stopping import unless_stopped
from workbench.target import Source

if TYPE_CHECKING:
    from workbench.build.assembly import Code, Kind
    from workbench.flow.building import BuildPlace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("file", metavar="FILE", type=Path, help="Python file with calls that build extensions")
    add_flags(parser, "build.full", "build.arch")
    parser.add_argument(
        "--backend", choices=tuple(_TEXTS), help="fail unless the file builds text of this backend ahead of a run"
    )
    parser.add_argument(
        "--show", choices=("ptx", "sass"), help="print PTX or machine code (SASS) of the kernels instead of building"
    )
    add_json(parser, "print one event a line, a summary last")


def run(arguments: argparse.Namespace) -> int:
    """Build and tell; exit code 1 when something has errors, 3 when there are no compilers, 130 when interrupted."""
    settings = load_settings(flag_values(arguments))
    source = read_source(arguments.file)
    if arguments.show:
        return _show_code(settings, source, arguments.show)
    found: list[Event] = []
    show = _show_json if arguments.json else _show
    stream = EventStream()
    stream.subscribe(found.append)
    stream.subscribe(show)
    if not _python_is_right(source, stream):
        return _summary(found, arguments.json)
    if asyncio.run(unless_stopped(_build(settings, source, stream))) is None:
        return INTERRUPTED
    if arguments.backend and not _builds_text(source, arguments.backend):
        words = f"no {_TEXTS[arguments.backend][1]} of this file is known before it runs: give it as a constant"
        stream.emit(Diagnostic(severity="error", message=words, path=str(source.path)))
    return _summary(found, arguments.json)


_TEXTS = {"cuda": ("cuda", "CUDA text"), "cpp": ("cpp", "C++ text"), "parallelkittens": ("cuda", "CUDA text")}
"""By backend: where its text is in a request, and in words. The other backends build nothing ahead."""


def _builds_text(source: Source, backend: str) -> bool:
    from workbench.build.plan import look

    return any(getattr(item.request, _TEXTS[backend][0]) for item in look(source.text).planned)


async def _build(settings: Settings, source: Source, stream: EventStream) -> bool:
    from workbench.flow.building import Building
    from workbench.flow.context import Stop

    place = await _place(settings)
    building = Building(0, source, place, stream)
    try:
        await building.begin()
        await building.finish()
    except (BuilderError, Stop) as error:
        if isinstance(error, BuilderError) and not building.summaries:  # else it is told as the end of a build
            print(f"pkwb: {error}", file=sys.stderr)
        return False
    finally:
        await building.end()
        await place.builder.close()
    return True


async def _place(settings: Settings) -> BuildPlace:
    from workbench.build.arch import choose_arch
    from workbench.flow.builder import Builder
    from workbench.flow.building import BuildPlace

    arch = await asyncio.to_thread(choose_arch, settings.build.arch)
    return BuildPlace(builder=Builder(settings), arch=arch, full=settings.build.full, device="cuda")


def _show_code(settings: Settings, source: Source, kind: Kind) -> int:
    """Print the code of all kernels; exit code 1 where there is none of some."""
    code = asyncio.run(unless_stopped(_code(settings, source, kind)))
    if code is None:
        return INTERRUPTED
    if code.text:
        print(code.text)
    if code.reason:
        print(f"pkwb: {code.reason}", file=sys.stderr)
    return 1 if code.reason else 0


async def _code(settings: Settings, source: Source, kind: Kind) -> Code:
    from workbench.flow.kernel_code import kernel_code

    place = await _place(settings)
    try:
        return await kernel_code(source, place, kind)
    finally:
        await place.builder.close()


def _python_is_right(source: Source, stream: EventStream) -> bool:
    """Whether the file is Python; where not, its error is told."""
    try:
        ast.parse(source.text, str(source.path))
    except SyntaxError as error:
        place = {"line": error.lineno or 0, "column": error.offset or 0}
        stream.emit(Diagnostic(severity="error", message=f"SyntaxError: {error.msg}", path=str(source.path), **place))
        return False
    except (ValueError, RecursionError, MemoryError) as error:
        words = f"Python cannot read this file: {str(error) or 'it is nested too deep'}"
        stream.emit(Diagnostic(severity="error", message=words, path=str(source.path)))
        return False
    return True


def _show_json(event: Event) -> None:
    print(to_json(event), flush=True)


def _show(event: Event) -> None:
    for line in progress_lines(event):
        print(line, file=sys.stderr)


def _summary(found: list[Event], as_json: bool) -> int:
    """Print the summary; the exit code that it means."""
    builds = [event for event in found if isinstance(event, BuildFinished)]
    wrong = any(isinstance(event, Diagnostic) and event.severity == "error" for event in found)
    ok = not wrong and all(build.ok for build in builds)
    if as_json:
        facts = [{key: value for key, value in dataclasses.asdict(build).items() if key in _FACTS} for build in builds]
        print(json.dumps({"event": "build", "ok": ok, "builds": facts}))
    else:
        print("\n".join(safe([_line(build) for build in builds])) or "nothing in this file is built ahead of a run")
    return 0 if ok else InfraError.exit_code if not wrong else 1


_FACTS = ("name", "ok", "path", "made_by", "seconds", "reason", "slim_note")


def _line(build: BuildFinished) -> str:
    return build_text(dataclasses.asdict(build)) if build.ok else f"{build.name}: failed: {build.reason}"
