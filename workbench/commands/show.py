"""``pkwb show``: one problem, its shapes and figures with numbers."""

from __future__ import annotations

import argparse
import dataclasses
import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any

from problems.binding import dtype_of, figure, shape_of
from problems.loader import find_problem
from problems.model import Binding, Input, Output
from problems.wording import (
    EFFECTS,
    argument,
    by_rank,
    communicates_from,
    compared,
    comparisons,
    figure_by_rank,
    largest,
    result,
    signature,
    worlds,
)
from workbench.commands.arguments import add_flags, add_json, add_problem, flag_values
from workbench.resolve import resolve_binding
from workbench.rooflines import find_roofline, roofline_document, roofline_rows
from workbench.settings import load_settings
from workbench.topology.cost import Roofline

FIGURES = ("needed_bytes", "reference_bytes", "hbm_bytes", "flops")
_WIDTH, _LABEL = 100, 32
_UNBROKEN: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
_TEXTS = {"statement": "", "algorithm": "How the reference does it", "notes": "Notes"}
"""Texts of a problem and their headings."""
_Section = tuple[str, list[tuple[str, str]]]
"""A heading, and labels with their text."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_problem(parser)
    add_flags(parser, "run.size", "ranks.world", "ranks.device", "run.dtype", "problems.pkb", "topology.name")
    add_json(parser, "print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print the problem."""
    flags = flag_values(arguments)
    settings = load_settings(flags)
    problem = find_problem(arguments.problem, settings.problems.paths, settings.problems.pkb)
    binding = resolve_binding(problem, settings, "run.dtype" not in flags)
    found = find_roofline(binding, settings)
    if arguments.json:
        print(json.dumps({**_document(binding), "roofline": roofline_document(found)}, indent=1))
    else:
        print("\n".join(_page(binding, found)))
    return 0


def _page(binding: Binding, found: Roofline | str) -> Iterator[str]:
    problem = binding.problem
    yield f"{problem.number} {problem.title}   [{problem.group}; {', '.join(problem.parallelism) or '-'}]"
    for name, heading in _TEXTS.items():
        text = getattr(problem, name)
        yield from ["", *filter(None, [heading]), *_wrapped(text)] if text else []
    yield ""
    yield from textwrap.wrap(signature(problem), _WIDTH, subsequent_indent=" " * len("solution("), **_UNBROKEN)
    for heading, lines in _sections(binding, found):
        yield from ["", heading, *_listed(lines)] if lines else []


def _wrapped(text: str) -> Iterator[str]:
    """Lines as they are written, each wrapped; a numbered or indented line goes on under its text."""
    for line in text.splitlines():
        lead = re.match(r"\s*(\d+\.|[-*])?\s*", line)
        indent = " " * len(lead.group()) if lead else ""
        yield from textwrap.wrap(line, _WIDTH, subsequent_indent=indent, **_UNBROKEN) or [""]


def _listed(lines: list[tuple[str, str]]) -> Iterator[str]:
    """Labels beside their texts; a label that is too long for that stands above its own."""
    width = max((len(label) for label, _ in lines if len(label) <= _LABEL), default=4)
    for label, text in lines:
        if len(label) > _LABEL:
            yield from textwrap.wrap(label, _WIDTH, initial_indent="  ", subsequent_indent="  ", **_UNBROKEN)
        first, *rest = textwrap.wrap(text, _WIDTH - width - 4, **_UNBROKEN) or [""]
        yield f"  {label if len(label) <= _LABEL else '':<{width}}  {first}".rstrip()
        yield from (f"  {'':<{width}}  {line}" for line in rest)


def _sections(binding: Binding, found: Roofline | str) -> list[_Section]:
    problem = binding.problem
    where = "" if isinstance(found, str) else f" on {found.topology}{', what if' if found.imagined else ''}"
    return [
        (f"Arguments at {binding.size}, {binding.world} ranks, {binding.dtype}", _arguments(binding)),
        ("Result", [(item.name, result(binding, item)) for item in problem.outputs]),
        ("Compared on every rank", [(f"{names}:", rule) for names, rule in comparisons(binding)]),
        ("Ranks", _ranks(binding)),
        ("Figures a rank", _figures(binding)),
        (f"Roofline{where}", roofline_rows(found, problem.number)),
        ("Collectives of the reference", _collectives(binding)),
        ("Symbols", _symbols(binding)),
        ("Sizes", [(name, ", ".join(f"{key} = {one}" for key, one in size.items())) for name, size in _sizes(binding)]),
    ]


def _arguments(binding: Binding) -> list[tuple[str, str]]:
    rows = []
    for item in binding.problem.inputs:
        facts = [
            argument(binding, item),
            EFFECTS[item.mutates],
            _default(item),
            item.note,
        ]
        rows.append((item.name, "; ".join(filter(None, facts))))
    return rows


def _default(item: Input) -> str:
    if not item.default:
        return ""
    return "has a default" if item.kind == "any" else "default, not passed"


def _ranks(binding: Binding) -> list[tuple[str, str]]:
    possible, reasons = worlds(binding.problem, binding.size, binding.dtype)
    lines = [("possible", f"{', '.join(map(str, possible)) or 'none'} (of 1 to 8)")]
    lines += [("not", f"{', '.join(map(str, ranks))}: {reason}") for reason, ranks in reasons]
    if not binding.problem.figures.known:
        return lines
    least = communicates_from(binding.problem, binding.size, binding.dtype)
    if least is None:
        moved = largest(binding, "reference_bytes")
        more = f"; the reference moves {moved:,.0f} bytes all the same" if moved else ""
        return [*lines, ("needs", f"no communication: each rank's result follows from its own arguments{more}")]
    return [*lines, ("needs", f"communication on {least} ranks and more")]


def _figures(binding: Binding) -> list[tuple[str, str]]:
    known = FIGURES if binding.problem.figures.known else ()
    return [(name.replace("_", " "), _figure(binding, name)) for name in known]


def _figure(binding: Binding, name: str) -> str:
    figures = binding.problem.figures
    published = ", for the published data" if figures.data_dependent and name != "flops" else ""
    formula = getattr(figures, name)
    values = by_rank([f"{value:,.0f}" for value in figure_by_rank(binding, name)])
    return f"{values}{published}" + (f" = {formula}" if not re.fullmatch(r"[\d.]+", formula) else "")


def _collectives(binding: Binding) -> list[tuple[str, str]]:
    problem = binding.problem
    lines = [("calls", ", ".join(problem.collectives))] if problem.collectives else []
    if problem.collective is None:
        return lines
    busbw = f"{problem.collective.op} of {figure(binding, problem.collective.bytes):,.0f} bytes"
    return [*lines, ("busbw", f"{busbw} = {problem.collective.bytes}")]


def _symbols(binding: Binding) -> list[tuple[str, str]]:
    formulas = binding.problem.symbols
    return [
        (name, f"{value}{f' = {formulas[name]}' if name in formulas else ''}")
        for name, value in binding.symbols.items()
    ]


def _sizes(binding: Binding) -> list[tuple[str, Any]]:
    return [(name, size) for name, size in binding.problem.sizes.items() if size]


def _document(binding: Binding) -> dict[str, Any]:
    problem = binding.problem
    names = ("number", "stem", "title", "group", "parallelism", "collectives", "origin", *_TEXTS, "dtypes", "compare")
    return {
        **{name: getattr(problem, name) for name in names},
        "folder": str(problem.folder),
        "signature": signature(problem),
        "size": binding.size,
        "world": binding.world,
        "dtype": binding.dtype,
        "symbols": dict(binding.symbols),
        "sizes": {name: dict(size) for name, size in problem.sizes.items()},
        "inputs": [_input(binding, item) for item in problem.inputs],
        "outputs": [_output(binding, item) for item in problem.outputs],
        "ranks": _ranks_document(binding),
        "figures": {name: largest(binding, name) for name in FIGURES},
        "figures_by_rank": {name: figure_by_rank(binding, name) for name in FIGURES},
        "formulas": {name: getattr(problem.figures, name) for name in FIGURES},
        "data_dependent": problem.figures.data_dependent,
        "collective": dataclasses.asdict(problem.collective) if problem.collective else None,
    }


def _ranks_document(binding: Binding) -> dict[str, Any]:
    problem, size, dtype = binding.problem, binding.size, binding.dtype
    possible, reasons = worlds(problem, size, dtype)
    least = communicates_from(problem, size, dtype)
    return {
        "possible": possible,
        "impossible": [{"ranks": ranks, "reason": reason} for reason, ranks in reasons],
        "communicates_from": least,
        "needs_communication": least is not None,
    }


def _input(binding: Binding, item: Input) -> dict[str, Any]:
    kinds = {"name": item.name, "kind": item.kind, "mutates": item.mutates, "default": item.default, "note": item.note}
    return {**kinds, "words": argument(binding, item), **(_shapes(binding, item) if item.shape else {})}


def _output(binding: Binding, item: Output) -> dict[str, Any]:
    limits = binding.problem.limits(item)
    return {
        "name": item.name,
        "kind": item.kind,
        **_shapes(binding, item),
        "compare": binding.problem.rule(item),
        "tolerance": {"rms": limits.rms[binding.dtype], "rel": limits.rel[binding.dtype], "share": item.share},
        "words": compared(binding, item),
    }


def _shapes(binding: Binding, item: Input | Output) -> dict[str, Any]:
    shapes = [shape_of(binding, item, rank) for rank in range(binding.world)]
    return {"dtype": dtype_of(binding, item), "shape": list(item.shape), "shape_by_rank": shapes}
