"""What ``problem.toml`` may hold: a table of readers per dataclass of :mod:`problems.model`, and the strict walk."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
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
from workbench.errors import FormulaError, ProblemError

Reader = Callable[[Any], Any]
Readers = Mapping[str, Reader]
_T = TypeVar("_T")


class _WrongTypeError(Exception):
    """A value is not what it should be; ``inner`` leads to it from the key that was read."""

    def __init__(self, wanted: str, value: Any, inner: str = "") -> None:
        super().__init__(f"must be {wanted}, not {value!r}")
        self.wanted, self.value, self.inner = wanted, value, inner


@dataclasses.dataclass(frozen=True)
class Place:
    """A key of one file, for messages."""

    path: Path
    key: str = ""

    def at(self, key: str | int) -> Place:
        """The place one level deeper."""
        step = f"[{key}]" if isinstance(key, int) else f".{key}" if self.key else key
        return Place(self.path, self.key + str(step))

    def error(self, text: str) -> ProblemError:
        """An error that names the file and the key."""
        return ProblemError(f"{self.path}: {self.key}: {text}" if self.key else f"{self.path}: {text}")


def nearest(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def read_table(table: Any, readers: Readers, required: Iterable[str], place: Place) -> dict[str, Any]:
    """A table's values through their readers. Unknown keys, missing keys and wrong types raise ProblemError."""
    if not isinstance(table, dict):
        raise place.error("must be a table")
    for key in table:
        if key not in readers:
            raise place.at(key).error(f"unknown key{nearest(key, readers)}; known: {', '.join(readers)}")
    for key in required:
        if key not in table:
            raise place.error(f"key {key!r} is missing")
    return {key: read_value(value, readers[key], place.at(key)) for key, value in table.items()}


def read_value(value: Any, reader: Reader, place: Place) -> Any:
    """One value through its reader."""
    try:
        return reader(value)
    except _WrongTypeError as error:
        raise Place(place.path, place.key + error.inner).error(str(error)) from None
    except FormulaError as error:
        raise place.error(str(error)) from None


def read_record(kind: type[_T], table: Any, readers: Readers, place: Place) -> _T:
    """A table as a dataclass; nested draws are read on the way. Fields without a default are required."""
    assert dataclasses.is_dataclass(kind)
    missing = dataclasses.MISSING
    required = [f.name for f in dataclasses.fields(kind) if f.default is missing and f.default_factory is missing]
    values = read_table(table, readers, required, place)
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


def _typed(kinds: tuple[type, ...], wanted: str) -> Reader:
    def reader(value: Any) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise _WrongTypeError(wanted, value)
        return value

    return reader


def _choice(*known: str) -> Reader:
    def reader(value: Any) -> str:
        if value not in known:
            hint = nearest(value, known) if isinstance(value, str) else ""
            raise _WrongTypeError(f"one of {', '.join(known)}{hint}", value)
        return str(value)

    return reader


def _each(item: Reader, wanted: str) -> Reader:
    def reader(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise _WrongTypeError(f"a list of {wanted}", value)
        return tuple(_inside(item, part, f"[{index}]") for index, part in enumerate(value))

    return reader


def _by_name(item: Reader, wanted: str) -> Reader:
    def reader(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _WrongTypeError(f"a table of {wanted}", value)
        return {key: _inside(item, part, f".{key}") for key, part in value.items()}

    return reader


def _inside(item: Reader, value: Any, step: str) -> Any:
    try:
        return item(value)
    except _WrongTypeError as error:
        raise _WrongTypeError(error.wanted, error.value, step + error.inner) from None


def _formula(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise _WrongTypeError("a formula", value)
    return parse(str(value)).text


def _anything(value: Any) -> Any:
    return value


def _dimension(value: Any) -> str:
    return "data" if value == "data" else _formula(value)


_text = _typed((str,), "a string")
_flag = _typed((bool,), "true or false")
_whole = _typed((int,), "a whole number")
_number = _typed((int, float), "a number")
_run_dtype = _choice(*ITEMSIZES)
_dtype = _choice(
    "dtype", *ITEMSIZES, "int64", "int32", "int16", "int8", "uint8", "bool", "float8_e4m3fn", "float8_e5m2", "complex64"
)
_formulas = _each(_formula, "formulas")
_shape = _each(_dimension, "formulas")
_texts = _each(_text, "strings")
_numbers = _by_name(_number, "numbers")


def _limit(value: Any) -> dict[str, float]:
    """A tolerance by dtype; one number is that of every dtype."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return dict.fromkeys(ITEMSIZES, float(value))
    return dict(_numbers(value))


DRAW: Readers = {
    "kind": _choice("normal", "uniform", "randint", "zeros", "formula", "value", "code", "group"),
    "formula": _formula,
    "low": _formula,
    "high": _formula,
    "scale": _formula,
    "same": _formula,
    "when": _formula,
    "only_rank": _whole,
    "value": _anything,
}
INPUT: Readers = {
    "name": _text,
    "kind": _choice(*get_args(InputKind)),
    "shape": _formulas,
    "elsewhere": _formulas,
    "dtype": _dtype,
    "draw": _anything,
    "judged": _anything,
    "refresh": _anything,
    "canary": _number,
    "mutates": _choice(*get_args(Effect)),
    "scaled": _flag,
    "default": _flag,
    "note": _text,
}
OUTPUT: Readers = {
    "name": _text,
    "kind": _choice(*get_args(OutputKind)),
    "shape": _shape,
    "elsewhere": _shape,
    "dtype": _dtype,
    "compare": _choice(*get_args(Compare)),
    "tolerance": _anything,
    "share": _number,
}
FIGURES: Readers = {
    "needed_bytes": _formula,
    "reference_bytes": _formula,
    "flops": _formula,
    "hbm_bytes": _formula,
    "data_dependent": _flag,
}
COLLECTIVE: Readers = {
    "op": _choice(*get_args(CollectiveOp)),
    "bytes": _formula,
}
TOLERANCE: Readers = {"rms": _limit, "rel": _limit}
NAMES: Readers = {"number": _whole, "stem": _text, "title": _text, "group": _text, "parallelism": _texts}
HEAD: Readers = {**NAMES, "collectives": _texts}
"""What a listing shows; a file that has these before its texts is listed without being read whole."""
PROBLEM: Readers = {
    **HEAD,
    "origin": _text,
    "statement": _text,
    "algorithm": _text,
    "notes": _text,
    "dtypes": _each(_run_dtype, "dtype names"),
    "compare": _choice(*get_args(Compare)),
    "requires": _formulas,
    "scales": _each(_number, "numbers"),
    "returns_input": _flag,
    "symbols": _by_name(_formula, "formulas"),
    "sizes": _by_name(_by_name(_whole, "whole numbers"), "sizes"),
    "inputs": _each(_anything, "tables"),
    "outputs": _each(_anything, "tables"),
    "tolerance": _anything,
    "figures": _anything,
    "collective": _anything,
}
RECORDS: Mapping[str, tuple[type[Any], Readers]] = {
    "inputs": (Input, INPUT),
    "outputs": (Output, OUTPUT),
    "figures": (Figures, FIGURES),
    "collective": (Collective, COLLECTIVE),
}
