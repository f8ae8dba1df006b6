"""What ``problem.toml`` may hold: a table of readers per dataclass of :mod:`problems.model`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, TypeVar, get_args

from problems.formula import parse
from problems.model import (
    Collective,
    CollectiveOp,
    Compare,
    Draw,
    Effect,
    Figures,
    Input,
    InputKind,
    Output,
    OutputKind,
    Tolerance,
)
from problems.tolerance import ITEMSIZES, tolerance
from workbench.strict import (
    Place,
    Readers,
    WrongTypeError,
    anything,
    by_name,
    choice,
    each,
    flag,
    number,
    read_table,
    required_fields,
    text,
    texts,
    whole,
)

_T = TypeVar("_T")


def read_record(kind: type[_T], table: Any, readers: Readers, place: Place) -> _T:
    """A table as a dataclass; nested draws are read on the way. Fields without a default are required."""
    assert dataclasses.is_dataclass(kind)
    values = read_table(table, readers, required_fields(kind), place)
    for name in ("draw", "judged", "refresh"):
        if name in values:
            values[name] = read_record(Draw, values[name], DRAW, place.at(name))
    if "tolerance" in values:
        values["tolerance"] = read_tolerance(values["tolerance"], place.at("tolerance"))
    return kind(**values)


def read_tolerance(table: Any, place: Place) -> Tolerance:
    """The default tolerance with a table's own figures put over it."""
    limits = read_table(table, TOLERANCE, (), place)
    return tolerance(limits.get("rms", {}), limits.get("rel", {}))


def _formula(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise WrongTypeError("a formula", value)
    return parse(str(value)).text


def _dimension(value: Any) -> str:
    return "data" if value == "data" else _formula(value)


_run_dtype = choice(*ITEMSIZES)
_dtype = choice(
    "dtype", *ITEMSIZES, "int64", "int32", "int16", "int8", "uint8", "bool", "float8_e4m3fn", "float8_e5m2", "complex64"
)
_formulas = each(_formula, "formulas")
_shape = each(_dimension, "formulas")
_numbers = by_name(number, "numbers")


def _limit(value: Any) -> dict[str, float]:
    """A tolerance by dtype; one number is that of every dtype."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return dict.fromkeys(ITEMSIZES, float(value))
    return dict(_numbers(value))


DRAW: Readers = {
    "kind": choice("normal", "uniform", "randint", "zeros", "formula", "value", "code", "group"),
    "formula": _formula,
    "low": _formula,
    "high": _formula,
    "scale": _formula,
    "same": _formula,
    "when": _formula,
    "only_rank": whole,
    "value": anything,
}
INPUT: Readers = {
    "name": text,
    "kind": choice(*get_args(InputKind)),
    "shape": _formulas,
    "elsewhere": _formulas,
    "dtype": _dtype,
    "draw": anything,
    "judged": anything,
    "refresh": anything,
    "canary": number,
    "mutates": choice(*get_args(Effect)),
    "scaled": flag,
    "default": flag,
    "note": text,
}
OUTPUT: Readers = {
    "name": text,
    "kind": choice(*get_args(OutputKind)),
    "shape": _shape,
    "elsewhere": _shape,
    "dtype": _dtype,
    "compare": choice(*get_args(Compare)),
    "tolerance": anything,
    "share": number,
}
FIGURES: Readers = {
    "needed_bytes": _formula,
    "reference_bytes": _formula,
    "flops": _formula,
    "hbm_bytes": _formula,
    "data_dependent": flag,
}
COLLECTIVE: Readers = {
    "op": choice(*get_args(CollectiveOp)),
    "bytes": _formula,
}
TOLERANCE: Readers = {"rms": _limit, "rel": _limit}
NAMES: Readers = {"number": whole, "stem": text, "title": text, "group": text, "parallelism": texts}
HEAD: Readers = {**NAMES, "collectives": texts}
"""What a listing shows; a file that has these before its texts is listed without being read whole."""
PROBLEM: Readers = {
    **HEAD,
    "origin": text,
    "statement": text,
    "algorithm": text,
    "notes": text,
    "dtypes": each(_run_dtype, "dtype names"),
    "compare": choice(*get_args(Compare)),
    "requires": _formulas,
    "scales": each(number, "numbers"),
    "returns_input": flag,
    "symbols": by_name(_formula, "formulas"),
    "sizes": by_name(by_name(whole, "whole numbers"), "sizes"),
    "inputs": each(anything, "tables"),
    "outputs": each(anything, "tables"),
    "tolerance": anything,
    "figures": anything,
    "collective": anything,
}
RECORDS: Mapping[str, tuple[type[Any], Readers]] = {
    "inputs": (Input, INPUT),
    "outputs": (Output, OUTPUT),
    "figures": (Figures, FIGURES),
    "collective": (Collective, COLLECTIVE),
}
