"""Strict reading of TOML tables: a reader per key, and messages that name the file, the key and what is wanted."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import tomli

from workbench.errors import FormulaError, UsageError

Reader = Callable[[Any], Any]
Readers = Mapping[str, Reader]


class WrongTypeError(Exception):
    """A value is not what it should be; ``inner`` leads to it from the key that was read."""

    def __init__(self, wanted: str, value: Any, inner: str = "") -> None:
        super().__init__(f"must be {wanted}, not {value!r}")
        self.wanted, self.value, self.inner = wanted, value, inner


@dataclasses.dataclass(frozen=True)
class Place:
    """A key of one file, for messages; ``raises`` is the error that they come with."""

    path: Path
    raises: type[UsageError]
    key: str = ""

    def at(self, key: str | int) -> Place:
        """The place one level deeper."""
        step = f"[{key}]" if isinstance(key, int) else f".{key}" if self.key else key
        return dataclasses.replace(self, key=self.key + str(step))

    def inside(self, steps: str) -> Place:
        """The place that ``steps`` lead to, for example ``[0].shape``."""
        return dataclasses.replace(self, key=self.key + steps)

    def error(self, text: str) -> UsageError:
        """An error that names the file and the key."""
        return self.raises(f"{self.path}: {self.key}: {text}" if self.key else f"{self.path}: {text}")


def nearest(name: str, known: Iterable[str]) -> str:
    """``; did you mean 'x'?`` or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def read_text(place: Place) -> str:
    """The text of the place's file."""
    try:
        return place.path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise place.error(f"cannot be read: {reason}") from None


def parse_toml(text: str, place: Place) -> dict[str, Any]:
    """TOML text as a table."""
    try:
        return tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        raise place.error(f"not valid TOML: {error}") from None


def read_table(table: Any, readers: Readers, required: Iterable[str], place: Place) -> dict[str, Any]:
    """A table's values through their readers. Unknown keys, missing keys and wrong types raise the place's error."""
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
    except WrongTypeError as error:
        raise place.inside(error.inner).error(str(error)) from None
    except FormulaError as error:
        raise place.error(str(error)) from None


def required_fields(kind: type[Any]) -> list[str]:
    """The fields of a dataclass that have no default."""
    missing = dataclasses.MISSING
    return [f.name for f in dataclasses.fields(kind) if f.default is missing and f.default_factory is missing]


def typed(kinds: tuple[type, ...], wanted: str) -> Reader:
    """A reader of values of these types; true and false are no numbers."""

    def reader(value: Any) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise WrongTypeError(wanted, value)
        return value

    return reader


def choice(*known: str) -> Reader:
    """A reader of one of these words."""

    def reader(value: Any) -> str:
        if value not in known:
            hint = nearest(value, known) if isinstance(value, str) else ""
            raise WrongTypeError(f"one of {', '.join(known)}{hint}", value)
        return str(value)

    return reader


def each(item: Reader, wanted: str) -> Reader:
    """A reader of lists."""

    def reader(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise WrongTypeError(f"a list of {wanted}", value)
        return tuple(_inside(item, part, f"[{index}]") for index, part in enumerate(value))

    return reader


def by_name(item: Reader, wanted: str) -> Reader:
    """A reader of tables with any keys."""

    def reader(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise WrongTypeError(f"a table of {wanted}", value)
        return {key: _inside(item, part, f".{key}") for key, part in value.items()}

    return reader


def anything(value: Any) -> Any:
    """A reader of what is read later."""
    return value


def _inside(item: Reader, value: Any, step: str) -> Any:
    try:
        return item(value)
    except WrongTypeError as error:
        raise WrongTypeError(error.wanted, error.value, step + error.inner) from None


text = typed((str,), "a string")
flag = typed((bool,), "true or false")
whole = typed((int,), "a whole number")
number = typed((int, float), "a number")
texts = each(text, "strings")
