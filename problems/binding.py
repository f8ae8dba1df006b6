"""A problem at one size, world size and dtype: numbers for its symbols, shapes and figures, and the judge's job."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

from problems.checks import SIZES
from problems.formula import parse
from problems.model import Binding, Input, Output, Problem, Tolerance
from problems.tolerance import ITEMSIZES
from workbench.errors import FormulaError, ProblemError
from workbench.strict import nearest

_WORLDS = range(1, 9)
"""World sizes that are looked at to say which ones are possible."""


def bind(problem: Problem, size: str, world: int, dtype: str) -> Binding:
    """Give every symbol of a problem its number. ``size`` is smoke, default, large or ``MxN``.

    Raises ProblemError when the size or dtype is unknown or the problem cannot run on ``world`` ranks.
    """
    if world < 1:
        raise ProblemError(f"problem {problem.number} cannot run on {world} ranks; give 1 or more")
    if dtype not in problem.dtypes:
        known = ", ".join(problem.dtypes)
        raise ProblemError(
            f"problem {problem.number} has no dtype {dtype!r}{nearest(dtype, problem.dtypes)}; it takes {known}"
        )
    base = _base(problem, size)
    reason = _obstacle(problem, base, world, dtype)
    if reason:
        possible = [p for p, obstacle in obstacles(problem, size, dtype).items() if not obstacle]
        offer = f"possible up to {_WORLDS[-1]}: {', '.join(map(str, possible)) or 'none'}"
        raise ProblemError(f"problem {problem.number} cannot run on {world} ranks: {reason}; {offer}")
    return Binding(problem=problem, size=size, world=world, dtype=dtype, symbols=_symbols(problem, base, world, dtype))


def obstacles(problem: Problem, size: str, dtype: str) -> dict[int, str]:
    """World sizes from 1 to 8, each with why the problem cannot run on so many ranks; empty where it can."""
    base = _base(problem, size)
    return {world: _obstacle(problem, base, world, dtype) for world in _WORLDS}


def shape_of(binding: Binding, item: Input | Output, rank: int) -> tuple[int, ...]:
    """The shape of an argument or a result on one rank; a length that only the data decide is -1."""
    formulas = item.elsewhere if rank and item.elsewhere is not None else item.shape
    values = {**binding.symbols, "rank": rank, "data": -1}
    return tuple(int(parse(formula).evaluate(values)) for formula in formulas)


def dtype_of(binding: Binding, item: Input | Output) -> str:
    """The dtype of an argument or a result in this run."""
    return binding.dtype if item.dtype == "dtype" else item.dtype


def figure(binding: Binding, formula: str, rank: int = 0) -> float:
    """The value of one of the problem's formulas (bytes or operations) on one rank."""
    return float(parse(formula).evaluate({**binding.symbols, "rank": rank}))


def judge_job(binding: Binding, rank: int) -> dict[str, Any]:
    """What one judge rank needs to draw the arguments and compare the results, as plain JSON data.

    Arguments come in call order, without those that ``solution`` has a default for. Shapes are numbers; the formulas of
    the draws stay text, since they need ``i``, ``rank``, ``trial`` and ``nonce``. In the shape of a result, -1 is a
    length that only the data decide.
    """
    problem = binding.problem
    return {
        "problem": problem.stem,
        "rank": rank,
        "world": binding.world,
        "dtype": binding.dtype,
        "symbols": dict(binding.symbols),
        "rule": _rule(binding, problem.compare, problem.tolerance, 0.0),
        "inputs_code": problem.code("inputs.py"),
        "generator": _generator(binding),
        "alternatives": bool(problem.code("alternatives.py")),
        "scales": list(problem.scales),
        "returns_input": problem.returns_input,
        "inputs": [_argument(binding, item, rank) for item in problem.inputs if not item.default],
        "outputs": [_result(binding, item, rank) for item in problem.outputs],
    }


def _generator(binding: Binding) -> dict[str, Any] | None:
    """What a checkout's generator is called with, beside rank, world size, trial and device."""
    problem, symbols = binding.problem, binding.symbols
    if not problem.generator:
        return None
    file = str(problem.folder / problem.generator)
    return {"file": file, "number": problem.number, "shape": [symbols["M"], symbols["N"]], "dtype": binding.dtype}


def _argument(binding: Binding, item: Input, rank: int) -> dict[str, Any]:
    return {
        "name": item.name,
        "kind": item.kind,
        "shape": list(shape_of(binding, item, rank)),
        "dtype": dtype_of(binding, item),
        "draw": dataclasses.asdict(item.draw),
        "judged": dataclasses.asdict(item.judged or item.draw),
        "refresh": dataclasses.asdict(item.refresh or item.judged or item.draw),
        "canary": item.canary,
        "mutates": item.mutates,
        "scaled": item.scaled,
        "value": item.draw.value,
    }


def _result(binding: Binding, item: Output, rank: int) -> dict[str, Any]:
    problem = binding.problem
    return {
        "name": item.name,
        "shape": list(shape_of(binding, item, rank)),
        "dtype": dtype_of(binding, item),
        **_rule(binding, problem.rule(item), problem.limits(item), item.share),
    }


def _rule(binding: Binding, compare: str, limits: Tolerance, share: float) -> dict[str, Any]:
    return {"compare": compare, "rms": limits.rms[binding.dtype], "rel": limits.rel[binding.dtype], "share": share}


def _base(problem: Problem, size: str) -> dict[str, int]:
    if size in problem.sizes:
        return dict(problem.sizes[size])
    numbers = re.fullmatch(r"([1-9]\d{0,8})[xX]([1-9]\d{0,8})", size)
    if not numbers:
        raise ProblemError(
            f"there is no size {size!r}{nearest(size, SIZES)}; use {', '.join(SIZES)} or MxN, for example 512x256"
        )
    if not {"M", "N"} <= problem.sizes["default"].keys():
        raise ProblemError(f"the shapes of problem {problem.number} do not depend on M and N; use {', '.join(SIZES)}")
    return {**problem.sizes["default"], "M": int(numbers[1]), "N": int(numbers[2])}


def _symbols(problem: Problem, base: dict[str, int], world: int, dtype: str) -> dict[str, int | float]:
    values: dict[str, int | float] = {"M": 1024, "N": 1024, **base, "P": world, "itemsize": ITEMSIZES[dtype]}
    for name, formula in problem.symbols.items():
        values[name] = parse(formula).evaluate(values)
    return values


def _obstacle(problem: Problem, base: dict[str, int], world: int, dtype: str) -> str:
    try:
        values = _symbols(problem, base, world, dtype)
    except FormulaError as error:
        return str(error)
    unmet = [formula for formula in problem.requires if parse(formula).evaluate(values) != 0]
    return " and ".join(f"{_filled(formula, values)} must be 0" for formula in unmet)


def _filled(formula: str, values: Mapping[str, int | float]) -> str:
    return re.sub(r"[A-Za-z_]\w*", lambda m: m[0] if m[0] == "P" else str(values.get(m[0], m[0])), formula)
