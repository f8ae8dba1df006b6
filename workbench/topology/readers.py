"""Readers of single values of topology files, each with the bounds that hold for any machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.strict import Place, Reader, Readers, WrongTypeError, each, flag, number, read_table, text, whole
from workbench.topology.model import Fact

MOST_DEVICES = 1_000_000
MOST_LINKS = 10_000
MOST_AXES = 6
_LEAST_FIGURE, _MOST_FIGURE = 1e-6, 1e9
_UNITS = "GB are 1e9 bytes, TFLOP/s 1e12 operations a second, times microseconds"
_FACT: Readers = {"value": number, "source": text, "unsure": flag}


def up_to(most: int) -> Reader:
    """A reader of whole numbers from 1 to ``most``."""

    def reader(value: Any) -> int:
        count: int = whole(value)
        if not 1 <= count <= most:
            raise WrongTypeError(f"a whole number from 1 to {most}", value)
        return count

    return reader


def line(value: Any) -> str:
    """A reader of texts that are shown in one line: not empty, nothing that would steer a terminal."""
    words: str = text(value)
    if not words.strip() or not words.isprintable():
        raise WrongTypeError("one line of plain text", value)
    return words


def axes(value: Any) -> tuple[int, ...]:
    """A reader of the lengths of a torus's axes."""
    found: tuple[int, ...] = each(up_to(MOST_DEVICES), "whole numbers")(value)
    if not 1 <= len(found) <= MOST_AXES:
        raise WrongTypeError(f"a list of 1 to {MOST_AXES} whole numbers", value)
    return found


def read_fact(value: Any, sources: Mapping[str, str], place: Place, most: float = _MOST_FIGURE) -> Fact:
    """A figure with its source in words; TopologyError for one that no machine has."""
    table = read_table(value, _FACT, ("value", "source"), place)
    if not table["value"] > 0:
        raise place.at("value").error(f"must be above 0, not {table['value']!r}")
    if not _LEAST_FIGURE <= table["value"] <= most:
        unit = "it is a share of the link's rate" if most <= 1 else _UNITS
        raise place.at("value").error(f"must be from {_LEAST_FIGURE:g} to {most:g}: {unit}")
    if table["source"] not in sources:
        raise place.at("source").error(f"{table['source']!r} is not in [sources]; known: {', '.join(sources)}")
    return Fact(**{**table, "value": float(table["value"]), "source": sources[table["source"]]})


def split_name(name: str) -> str:
    """A name without the number that tells several of its kind apart."""
    head, _, tail = name.rpartition(" ")
    return head if head and tail.isdigit() else name
