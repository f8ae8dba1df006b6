"""``pkwb show``: one problem, its shapes and figures with numbers."""

from __future__ import annotations

import argparse
import dataclasses
import json
import textwrap
from typing import Any

from problems.binding import figure, shape_of
from problems.model import Binding, Input, Output
from workbench.commands.arguments import add_flags, add_json, add_problem, flag_values
from workbench.resolve import resolve_target
from workbench.settings import load_settings
from workbench.tables import table

FIGURES = ("needed_bytes", "reference_bytes", "hbm_bytes", "flops")
_WIDTH = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_problem(parser)
    add_flags(parser, "run.size", "ranks.world", "run.dtype")
    add_json(parser, "print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Print the problem."""
    flags = flag_values(arguments)
    target = resolve_target(arguments.problem, load_settings(flags), any_dtype="run.dtype" not in flags)
    if arguments.json:
        print(json.dumps(_document(target.binding), indent=1))
    else:
        print("\n".join(_page(target.binding)))
    return 0


def _page(binding: Binding) -> list[str]:
    problem = binding.problem
    texts = [problem.statement, problem.algorithm, problem.notes]
    return [
        f"{problem.number} {problem.title}   [{problem.group}; {', '.join(problem.parallelism)}]",
        "",
        *(line for text in texts if text.strip() for line in [*_wrapped(text), ""]),
        f"solution({', '.join(_argument(item) for item in problem.inputs)})",
        "",
        *_shapes(binding),
        "",
        *_facts(binding),
    ]


def _wrapped(text: str) -> list[str]:
    paragraphs = text.strip().split("\n\n")
    filled = (textwrap.fill(paragraph, _WIDTH, break_long_words=False) for paragraph in paragraphs)
    return "\n\n".join(filled).splitlines()


def _argument(item: Input) -> str:
    return f"{item.name}=..." if item.default else item.name


def _shapes(binding: Binding) -> list[str]:
    problem = binding.problem
    rows = [_shape_row(binding, item.name, item, item.kind, _effect(item)) for item in problem.inputs]
    rows += [_shape_row(binding, f"-> {item.name}", item, "tensor", "") for item in problem.outputs]
    return table(("argument", "shape", f"at {binding.size}, rank 0", "dtype", ""), rows)


def _shape_row(binding: Binding, name: str, item: Input | Output, kind: str, effect: str) -> tuple[str, ...]:
    if kind != "tensor":
        return (name, "", _plain_value(item), kind, effect)
    return (name, f"({', '.join(item.shape)})", _numbers(binding, item, 0), _dtype(binding, item), effect)


def _plain_value(item: Input | Output) -> str:
    value = item.draw.value if isinstance(item, Input) else None
    return "" if value is None else str(value)


def _numbers(binding: Binding, item: Input | Output, rank: int) -> str:
    sizes = shape_of(binding, item, rank)
    return f"({', '.join('?' if size < 0 else str(size) for size in sizes)})"


def _dtype(binding: Binding, item: Input | Output) -> str:
    return binding.dtype if item.dtype == "dtype" else item.dtype


def _effect(item: Input) -> str:
    return {"none": "", "may": "may be written to", "must": "is updated in place"}[item.mutates]


def _facts(binding: Binding) -> list[str]:
    problem = binding.problem
    facts = {name: f"{figure(binding, getattr(problem.figures, name)):,.0f}" for name in FIGURES}
    lines = [("ranks", str(binding.world)), ("size", f"{binding.size}: {_symbols(binding)}")]
    lines += [("compared", _tolerance(binding))]
    lines += [(name.replace("_", " "), f"{value} a rank") for name, value in facts.items()]
    width = max(len(name) for name, _ in lines)
    return [f"{name:<{width}}  {value}" for name, value in lines]


def _symbols(binding: Binding) -> str:
    return ", ".join(f"{name} = {value}" for name, value in binding.symbols.items())


def _tolerance(binding: Binding) -> str:
    limits, dtype = binding.problem.tolerance, binding.dtype
    if binding.problem.compare == "exact":
        return "bit for bit"
    rule = f"|got - ref| <= {limits.rms[dtype]:g} * rms(ref) + {limits.rel[dtype]:g} * |ref|, in float64"
    return rule if binding.problem.compare == "close" else f"{rule}; rule {binding.problem.compare}"


def _document(binding: Binding) -> dict[str, Any]:
    problem = binding.problem
    names = ("number", "stem", "title", "group", "parallelism", "origin", "statement", "algorithm", "notes", "dtypes")
    return {
        **{name: getattr(problem, name) for name in (*names, "compare", "collectives")},
        "folder": str(problem.folder),
        "size": binding.size,
        "world": binding.world,
        "dtype": binding.dtype,
        "symbols": dict(binding.symbols),
        "inputs": [_item(binding, item) for item in problem.inputs],
        "outputs": [_item(binding, item) for item in problem.outputs],
        "tolerance": {name: dict(getattr(problem.tolerance, name))[binding.dtype] for name in ("rms", "rel")},
        "figures": {name: figure(binding, getattr(problem.figures, name)) for name in FIGURES},
        "collective": dataclasses.asdict(problem.collective) if problem.collective else None,
    }


def _item(binding: Binding, item: Input | Output) -> dict[str, Any]:
    kind = item.kind if isinstance(item, Input) else "tensor"
    data: dict[str, Any] = {"name": item.name, "kind": kind}
    if kind == "tensor":
        shapes = [shape_of(binding, item, rank) for rank in range(binding.world)]
        data |= {"dtype": _dtype(binding, item), "shape": list(item.shape), "shape_by_rank": shapes}
    if isinstance(item, Input):
        data |= {"mutates": item.mutates, "default": item.default}
    return data
