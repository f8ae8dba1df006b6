"""Searching in lines: what is looked for, where it stands, and the bar that asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Input, Label

from widgets.lines import Match


@dataclass
class Search:
    """A text, the places where it stands, and which of them is looked at. Capital letters count where it has some."""

    query: str = ""
    matches: list[Match] = field(default_factory=list)
    at: int = 0

    def find(self, texts: Sequence[str], top: int | None = None) -> None:
        """Look for it in these lines; with ``top``, the first place from that line on is looked at."""
        self.matches = list(self._places(texts)) if self.query else []
        if top is not None:
            self.at = next((at for at, match in enumerate(self.matches) if match.line >= top), 0)
        self.at = max(0, min(self.at, len(self.matches) - 1))

    def step(self, count: int) -> None:
        """Go on to a later or earlier place, around the ends."""
        self.at = (self.at + count) % len(self.matches) if self.matches else 0

    @property
    def match(self) -> Match | None:
        """The place that is looked at."""
        return self.matches[self.at] if self.matches else None

    @property
    def place(self) -> str:
        """Where that is among all: `` 2 of 11``."""
        if self.matches:
            return f" {self.at + 1} of {len(self.matches)}"
        return " not found" if self.query else ""

    def _places(self, texts: Sequence[str]) -> Iterator[Match]:
        query, size = self.query, len(self.query)
        fold = query == query.lower()
        for row, line in enumerate(texts):
            text = line.lower() if fold else line
            at = text.find(query)
            while at >= 0:
                yield Match(row, at, at + size)
                at = text.find(query, at + size)


class SearchBar(Horizontal):
    """One line: what is searched, and which of how many places is looked at."""

    DEFAULT_CSS = """
    SearchBar { height: 1; }
    SearchBar Input { width: 1fr; }
    SearchBar #slash, SearchBar #place { width: auto; }
    """

    def compose(self) -> ComposeResult:
        """A slash, the text, the count."""
        yield Label("/", id="slash", markup=False)
        yield Input(compact=True, select_on_focus=True)
        yield Label("", id="place", markup=False)
