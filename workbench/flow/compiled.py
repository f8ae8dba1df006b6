"""Errors of compilers that run inside ranks (Triton, NVRTC, PyTorch's builds) as build errors at the user's line."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from workbench.build.diagnostics import findings, first_error
from workbench.build.names import declared_at, plain_name, written_name
from workbench.judge.verdicts import Answer
from workbench.ranks.channel import Message

_TRITON = re.compile(r"at (\d+):(\d+):\n(?P<lines>.*?)\n(?P<mark> *\^)\n?(?P<message>.*)", re.DOTALL)
_MOST_LINES = 40
_IN_UNIT = re.compile(r"^kernel\.cu\(\d+\): (?:catastrophic )?error(?: #[\w-]+)?: ")
_UNDEFINED = re.compile(r"undefined symbol:? (?P<shown>.+?)(?:: no source|$)", re.MULTILINE)
"""What a rank says of a library that it cannot load: the name as it is written in C++, or as the linker has it."""


def as_build_error(answer: Answer, source: str) -> Answer:
    """An answer whose failure is a compiler's, told as a build error; any other as it is."""
    report = answer.report or {}
    failure = report.get("failure")
    place = _COMPILERS.get(failure["type"]) if failure else None
    if failure is None or place is None or report["status"] not in ("crash", "load-error", "build-error"):
        return answer
    found = place(failure, source)
    if found is None:
        return answer
    spot = f"line {found['line']}: " if found["line"] else ""
    told = {**report, "status": "build-error", "failure": found, "detail": f"{spot}{found['message']}"}
    return dataclasses.replace(answer, report=told)


def _triton(failure: Message, source: str) -> Message | None:
    """The line of the kernel that Triton shows, where the file holds these lines once; else that of the call."""
    found = _TRITON.search(failure["message"])
    if found is None:
        return failure
    shown = found["lines"].split("\n")[-_MOST_LINES:]
    message = found["message"].strip() or "Triton cannot compile this"
    lines = source.split("\n")
    ends = [end for end in range(len(shown), len(lines) + 1) if _alike(lines[end - len(shown) : end], shown)]
    if len(ends) != 1:
        return {**failure, "message": message}
    moved = _indent(lines[ends[0] - 1]) - _indent(shown[-1])
    return {**failure, "message": message, "line": ends[0], "column": len(found["mark"]) + moved}


def _alike(lines: list[str], shown: list[str]) -> bool:
    return all(line.strip() == other.strip() for line, other in zip(lines, shown))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _own_build(failure: Message, source: str) -> Message | None:
    """The first real error in what PyTorch's own build printed; None for other runtime errors."""
    if not failure["message"].startswith("Error building extension"):
        return None
    error = first_error(findings(failure["text"], {}))
    if error is None:
        return {**failure, "message": failure["message"].split("\n")[0]}
    where = f" (in {error.unit}, line {error.line})" if error.line else ""
    return {**failure, "message": f"{error.message}{where}"}


def _undefined(failure: Message, source: str) -> Message | None:
    """A name that the loader did not find, at the line that declares it; None for other failures of an import."""
    found = _UNDEFINED.search(failure["message"])
    if found is None:
        return None
    line = declared_at(plain_name(written_name(found["shown"])), source)
    return {**failure, "line": line, "column": 0} if line else failure


def _nvrtc(failure: Message, source: str) -> Message | None:
    """The error alone where its line in the user's file is known."""
    return {**failure, "message": _IN_UNIT.sub("", failure["message"])} if failure["line"] else failure


def _as_it_is(failure: Message, source: str) -> Message | None:
    return failure


_COMPILERS: dict[str, Callable[[Message, str], Message | None]] = {
    "CompilationError": _triton,
    "CompileTimeAssertionFailure": _triton,
    "UnsupportedLanguageConstruct": _triton,
    "BuildError": _undefined,
    "ImportError": _undefined,
    "PTXASError": _as_it_is,
    "CompileError": _nvrtc,
    "RuntimeError": _own_build,
}
"""By the type of the exception, as the rank names it: what becomes of it."""
