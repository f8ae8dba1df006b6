"""Checks across the keys of one problem: its formulas use known symbols, its sizes agree, its names are its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from problems.formula import parse
from problems.model import Draw, Input, Problem
from workbench.strict import Place, nearest

SIZES = ("smoke", "default", "large")
ALWAYS = ("M", "N", "P", "itemsize")
"""Symbols that every binding has."""
_ELEMENT = ("i", "rank", "trial", "nonce")
"""What a draw may use besides the symbols."""


def check_problem(problem: Problem, place: Place) -> None:
    """Raise ProblemError when the parts of a problem do not fit together."""
    if not problem.stem.startswith(f"{problem.number}_"):
        raise place.at("stem").error(f"must start with the problem's number, '{problem.number}_'")
    _check_sizes(problem, place.at("sizes"))
    _check_inputs(problem.inputs, place.at("inputs"))
    known = [*ALWAYS, *problem.sizes["default"]]
    for name, formula in problem.symbols.items():
        _check_symbols([formula], known, place.at("symbols").at(name))
        known.append(name)
    _check_outputs(problem, place.at("outputs"))
    for key, formulas, extra in _formulas(problem):
        _check_symbols(formulas, [*known, *extra], place.at(key))


def _check_sizes(problem: Problem, place: Place) -> None:
    for size in problem.sizes:
        if size not in SIZES:
            raise place.at(size).error(f"unknown size{nearest(size, SIZES)}; known: {', '.join(SIZES)}")
    for size in SIZES:
        if size not in problem.sizes:
            raise place.error(f"size {size!r} is missing")
        if problem.sizes[size].keys() != problem.sizes["default"].keys():
            raise place.at(size).error(f"must set the same symbols as default: {', '.join(problem.sizes['default'])}")


def _check_inputs(inputs: tuple[Input, ...], place: Place) -> None:
    names = [item.name for item in inputs]
    for index, item in enumerate(inputs):
        if not item.name.isidentifier() or names.count(item.name) > 1:
            raise place.at(index).at("name").error(f"{item.name!r} must be a Python name and used once")
        if not 0 <= item.canary <= 1:
            raise place.at(index).at("canary").error("must be a share from 0 to 1")
        if item.draw.kind == "group" and item.kind != "group":
            raise place.at(index).at("draw").error("makes a process group; the input's kind must be 'group'")


def _check_outputs(problem: Problem, place: Place) -> None:
    rules = [problem.rule(output) for output in problem.outputs]
    for index, (output, rule) in enumerate(zip(problem.outputs, rules)):
        if not 0 <= output.share < 1:
            raise place.at(index).at("share").error("must be a share from 0 to 1")
        if rule == "lookup" and (index == 0 or rules[index - 1] != "close"):
            raise place.at(index).at("compare").error("lookup needs an output with the rule 'close' right before it")
    if {"between", "lookup"} & set(rules) and not problem.code("alternatives.py"):
        raise place.error("the rules between and lookup need a file alternatives.py in the problem's folder")


def _formulas(problem: Problem) -> Iterator[tuple[str, Iterable[str], tuple[str, ...]]]:
    figures = problem.figures
    yield "requires", problem.requires, ()
    yield "figures", (figures.needed_bytes, figures.reference_bytes, figures.flops, figures.hbm_bytes), ("rank",)
    if problem.collective:
        yield "collective.bytes", (problem.collective.bytes,), ("rank",)
    for output in problem.outputs:
        yield f"outputs.{output.name}.shape", (*output.shape, *(output.elsewhere or ())), ("rank", "data")
    for item in problem.inputs:
        yield f"inputs.{item.name}.shape", (*item.shape, *(item.elsewhere or ())), ("rank",)
        yield f"inputs.{item.name}.draw", _of_draw(item.draw), _ELEMENT
        yield f"inputs.{item.name}.judged", _of_draw(item.judged), _ELEMENT
        yield f"inputs.{item.name}.refresh", _of_draw(item.refresh), _ELEMENT


def _of_draw(draw: Draw | None) -> tuple[str, ...]:
    return (
        tuple(text for text in (draw.formula, draw.low, draw.high, draw.scale, draw.same, draw.when) if text)
        if draw
        else ()
    )


def _check_symbols(formulas: Iterable[str], known: list[str], place: Place) -> None:
    for formula in formulas:
        for name in sorted(parse(formula).symbols - set(known)):
            raise place.error(f"formula {formula!r}: no symbol {name!r}{nearest(name, known)}")
