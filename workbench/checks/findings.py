"""What the doctor says: findings, each with a consequence for the user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of the report. ``problem`` means that something will not work."""

    name: str
    state: Literal["ok", "note", "problem"]
    value: str
    meaning: str


def ok(name: str, value: str, meaning: str) -> Finding:
    """Nothing to do."""
    return Finding(name=name, state="ok", value=value, meaning=meaning)


def note(name: str, value: str, meaning: str) -> Finding:
    """It works, with less than there could be."""
    return Finding(name=name, state="note", value=value, meaning=meaning)


def problem(name: str, value: str, meaning: str) -> Finding:
    """Something will not work."""
    return Finding(name=name, state="problem", value=value, meaning=meaning)
