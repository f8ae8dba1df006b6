"""What compilers print, as findings: errors of the user's text first, noise of make tools and linkers left out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import cast

from workbench.build.model import CPP_UNIT, CUDA_UNIT, Finding, Severity
from workbench.build.names import declared_at, defined_at, plain_name, written_name

MOST = 50
"""Findings kept of one build."""
_LONGEST_LINE = 4000
"""Characters of a line that are looked at: compilers quote a text's lines whole."""
_UNITS = (CUDA_UNIT, CPP_UNIT)
_EDG = re.compile(
    r"(?P<unit>[^\s(][^(]*)\((?P<line>\d+)\): (?P<kind>[a-z ]*error|warning)(?: #[\w-]+)?: (?P<message>.*)"
)
_GCC = re.compile(
    r"(?P<unit>[^\s:][^:]*):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<kind>(?:fatal |internal compiler )?error|warning): "
    r"(?P<message>.*)"
)
_END = re.compile(r"At end of source: (?P<kind>error)(?: #[\w-]+)?: (?P<message>.*)")
_INCLUDED = re.compile(rf"(?:In file included)? +from ({'|'.join(map(re.escape, _UNITS))}):(\d+)")
_TOOLS = re.compile(
    r"(?:nvcc|ptxas|fatbinary|nvlink|cicc|cc1plus|g\+\+|gcc|c\+\+|virtual memory)\b[^:;]*[:;]?\s*"
    r"(?P<kind>fatal(?: error)?|error|exhausted|out of memory)"
    r"\s*:?\s*(?P<message>.*)"
)
_LINKER = re.compile(
    r"(?P<kind>undefined reference to|multiple definition of) `(?P<name>[^']+)'|cannot find -l[^:]*",
)
_NOISE = re.compile(r"ld returned|Ptx assembly aborted|\d+ errors? detected|compilation terminated")
_ENTRY = re.compile(r"ptxas info\s*: Compiling entry function '(\w+)'")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_USED = re.compile(r"ptxas info\s*: Used (\d+) registers(?:.*?(\d+) bytes smem)?")


def findings(output: str, texts: dict[str, str]) -> tuple[Finding, ...]:
    """The findings in a compiler's output; ``texts`` are the units as the user wrote them, by the unit's name."""
    found = [*_messages(output.splitlines(), texts), *kernel_figures(output, texts.get(CUDA_UNIT, ""))]
    kept = [finding for finding in found if finding.unit in ("", *_UNITS) or finding.severity == "error"]
    ranked = sorted(dict.fromkeys(kept), key=lambda finding: _rank(finding))
    return tuple(ranked[:MOST])


def first_error(found: Sequence[Finding]) -> Finding | None:
    """The error that is told in one line."""
    return next((finding for finding in found if finding.severity == "error"), None)


def kernel_figures(output: str, text: str) -> Iterator[Finding]:
    """One note a kernel with what ptxas says of it; a warning where registers are spilled."""
    kernel, spilled = "", 0
    for line in output.splitlines():
        if entry := _ENTRY.search(line):
            kernel, spilled = plain_name(entry[1]), 0
        elif spills := _SPILLS.search(line):
            spilled = int(spills[2]) + int(spills[3])
        elif (used := _USED.search(line)) and kernel:
            words = (
                f"kernel {kernel}: {used[1]} registers, {used[2] or 0} bytes of shared memory, {spilled} bytes spilled"
            )
            severity: Severity = "warning" if spilled else "note"
            yield Finding(severity=severity, message=words, unit=CUDA_UNIT, line=_line_of_kernel(kernel, text))


def _messages(lines: Sequence[str], texts: dict[str, str]) -> Iterator[Finding]:
    included = ("", 0)
    for number, whole in enumerate(lines):
        line = whole[:_LONGEST_LINE]
        if place := _INCLUDED.match(line):
            included = (place[1], int(place[2]))
        elif _NOISE.search(line):
            continue
        elif found := _EDG.fullmatch(line):
            yield _edg(found, lines[number + 1 :], texts)
        elif found := _GCC.fullmatch(line):
            yield _gcc(found, included)
            included = ("", 0)
        elif found := _END.fullmatch(line):
            yield Finding(severity="error", message=f"{found['message']} (at the end of the text)", unit=CUDA_UNIT)
        elif not line.startswith(" ") and (found := _LINKER.search(line)):
            yield _of_linker(found, texts)
        elif found := _TOOLS.match(line):
            yield _of_tool(line, found, texts)


def _edg(found: re.Match[str], after: Sequence[str], texts: dict[str, str]) -> Finding:
    """A message of CUDA's front end, which shows the column by a caret below the line."""
    unit, line, message = found["unit"], int(found["line"]), found["message"]
    for rest, below in pairwise(after[:5]):
        if below.strip() == "^" or not rest.startswith(" " * 12):  # the user's line, which may be far to the right
            break
        message += f" {rest.strip()}"
    column = _caret(after, texts.get(unit, ""), line)
    return Finding(severity=_severity(found["kind"]), message=message, unit=unit, line=line, column=column)


def _caret(after: Sequence[str], text: str, line: int) -> int:
    """The column under which the caret stands; 0 where the line shown is not the line written.

    A macro is shown as what it stands for: what is written up to the caret counts, or else what is written from it on.
    """
    lines = text.splitlines()
    source = lines[line - 1].rstrip() if 0 < line <= len(lines) else ""
    for shown, mark in pairwise(after[:7]):
        if mark.strip() == "^":
            column, rest = mark.index("^") - 2, shown[mark.index("^") :].rstrip()
            if 0 <= column <= len(source) and shown[2 : column + 2] == source[:column]:
                return column + 1
            return len(source) - len(rest) + 1 if rest and source.endswith(rest) else 0
    return 0


def _gcc(found: re.Match[str], included: tuple[str, int]) -> Finding:
    """A message of the C++ compiler or preprocessor; one about a header stands at the line that includes it."""
    severity = _severity(found["kind"])
    if found["unit"] not in _UNITS and included[0] and severity == "error":
        words = f"{found['message']} (in {found['unit']}, line {found['line']})"
        return Finding(severity=severity, message=words, unit=included[0], line=included[1])
    line, column = int(found["line"]), int(found["column"] or 0)
    return Finding(severity=severity, message=found["message"], unit=found["unit"], line=line, column=column)


def _of_tool(line: str, found: re.Match[str], texts: dict[str, str]) -> Finding:
    """A message without a place. What ptxas says of a kernel stands there, what it quotes at the one line of inline
    assembly that holds it, if any."""
    message, text = found["message"].strip() or line.strip(), texts.get(CUDA_UNIT, "")
    quoted = re.search(r"'([^']+)'", message) if line.startswith("ptxas") else None
    where = 0
    if quoted and quoted[1].startswith("_Z"):
        kernel = plain_name(quoted[1])
        where, message = _line_of_kernel(kernel, text), message.replace(quoted[1], kernel)
    elif quoted:
        where = _only_line(quoted[1], text)
    program = line.split()[0].rstrip(":")
    return Finding(severity="error", message=f"{program}: {message}", unit=CUDA_UNIT if where else "", line=where)


def _of_linker(found: re.Match[str], texts: dict[str, str]) -> Finding:
    """What is missing stands where it is declared, what is there twice at one of its definitions."""
    message = found[0].replace("pkwb::", "at::")
    name = plain_name(written_name(found["name"] or ""))
    place = defined_at if found["kind"] and found["kind"].startswith("multiple") else declared_at
    for unit in _UNITS if name else ():
        if line := place(name, texts.get(unit, "")):
            return Finding(severity="error", message=message, unit=unit, line=line)
    return Finding(severity="error", message=message)


def _only_line(token: str, text: str) -> int:
    lines = [number for number, line in enumerate(text.splitlines(), 1) if token in line and '"' in line]
    return lines[0] if len(lines) == 1 else 0


def _line_of_kernel(name: str, text: str) -> int:
    """Where a kernel of this name begins, if there is one place only."""
    found = list(re.finditer(rf"__global__[^;{{}}]*?\b{re.escape(name)}\s*\(", text))
    return text.count("\n", 0, found[0].start()) + 1 if len(found) == 1 else 0


def _severity(kind: str) -> Severity:
    return "error" if "error" in kind else cast("Severity", kind)


def _rank(finding: Finding) -> tuple[int, bool]:
    order = {"error": 0, "warning": 1, "note": 2}
    return order[finding.severity], finding.severity == "error" and finding.unit not in _UNITS
