"""Compilers' findings as diagnostics in the user's file."""

from __future__ import annotations

import dataclasses
import re

from workbench.build.model import CPP_UNIT, CUDA_UNIT, Finding, Request
from workbench.build.places import Place, place_of
from workbench.build.plan import Planned
from workbench.events import Diagnostic
from workbench.target import Source

_FIELDS = {CUDA_UNIT: "cuda", CPP_UNIT: "cpp"}
_OTHER_LINE = re.compile(r"\bat line (\d+)(?! of|\d)")
"""Another line of the same text that CUDA's front end names, as that of an earlier definition."""


def diagnostic_of(finding: Finding, request: Request, planned: Planned | None, source: Source) -> Diagnostic:
    """The diagnostic at the user's own line; where that is not known, the message says where in which text it is."""
    place = _place(finding, request, planned, source)
    message = _OTHER_LINE.sub(lambda match: _other_line(match, finding, request, planned, source), finding.message)
    if not place.line and finding.unit:
        spot = f" line {finding.line}" if finding.line else ""
        message = f"{message} (in {finding.unit} of {request.name}{',' if spot else ''}{spot})"
    line = place.line or (planned.line if planned is not None and not finding.unit else 0)
    return Diagnostic(severity=finding.severity, message=message, path=str(source.path), line=line, column=place.column)


def _place(finding: Finding, request: Request, planned: Planned | None, source: Source) -> Place:
    field = _FIELDS.get(finding.unit)
    if field is None or not finding.line:
        return Place()
    written = planned.texts.get(field) if planned is not None else None
    return place_of(getattr(request, field), written, source.text, finding.line, finding.column)


def _other_line(
    match: re.Match[str], finding: Finding, request: Request, planned: Planned | None, source: Source
) -> str:
    """A line of the text that a message names, as the line of the user's file."""
    there = dataclasses.replace(finding, line=int(match[1]), column=0)
    line = _place(there, request, planned, source).line
    return f"at line {line}" if line else f"{match[0]} of {finding.unit}"
