"""What panes say to the app. Panes never act on the flow themselves."""

from __future__ import annotations

from dataclasses import dataclass

from textual.message import Message


@dataclass
class JumpTo(Message):
    """Move the editor's cursor there; line and column count from 1, 0 = unknown."""

    line: int
    column: int = 0


@dataclass
class ProblemChosen(Message):
    """Open this problem; ``stem`` is its full name."""

    stem: str


@dataclass
class AttemptChosen(Message):
    """Show this attempt; ``attempt_id`` is its id in the session store."""

    attempt_id: int


@dataclass
class RankChosen(Message):
    """Show the output of this rank alone; None = of all ranks."""

    rank: int | None


@dataclass
class CopyRequested(Message):
    """Put this text on the clipboard and tell the user; ``what`` names it, for example "3 lines"."""

    text: str
    what: str


@dataclass
class ModelAsked(Message):
    """Something is wanted of the language model or its proposal; ``text`` is a remark, or a proposal as it was edited.

    ``what`` is one of the wishes of :mod:`workbench.controllers.model`.
    """

    what: str
    text: str = ""
