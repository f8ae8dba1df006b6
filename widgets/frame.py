"""The parts that hold panes: a framed region whose title is its row of tabs, the row of all panes, the top line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static


@dataclass(frozen=True)
class Place:
    """Where a pane is: the region that holds it, the digit that goes there, its title, and shorter ones."""

    name: str
    title: str
    digit: str
    region: str
    short: str
    shortest: str


PLACES: tuple[Place, ...] = (
    Place("problem", "Problem", "1", "left", "Problem", "Prob"),
    Place("topology", "Topology", "2", "left", "Topo", "Topo"),
    Place("reference", "Reference", "3", "left", "Ref", "Ref"),
    Place("editor", "Editor", "4", "editor-pane", "Editor", "Edit"),
    Place("verdict", "Verdict", "5", "right", "Verdict", "Verd"),
    Place("speed", "Speed", "6", "right", "Speed", "Spd"),
    Place("history", "History", "7", "bottom", "History", "Hist"),
    Place("diagnostics", "Diagnostics", "8", "bottom", "Errors", "Err"),
    Place("log", "Log", "9", "bottom", "Log", "Log"),
    Place("model", "Model", "0", "bottom", "Model", "Mod"),
)
PLACE: Mapping[str, Place] = {place.name: place for place in PLACES}
_ALONE = frozenset({"verdict", "speed"})


def frame_of(name: str) -> str:
    """What is hidden when a pane is: the region that it shares with others, on the right the pane alone."""
    return name if name in _ALONE else PLACE[name].region


FRAMES = frozenset(map(frame_of, PLACE))
"""Everything that can be hidden."""


class TabbedRegion(Vertical):
    """Several panes in one frame, one of them shown; a pane is made when it is first shown."""

    def __init__(self, id: str, makers: Mapping[str, Callable[[], Widget]]) -> None:
        super().__init__(id=id)
        self._makers = dict(makers)
        self._made: dict[str, Widget] = {}
        self._badges: dict[str, str] = {}
        self.active = next(iter(self._makers))
        """Name of the pane that is shown."""

    def compose(self) -> ComposeResult:
        """The first pane only."""
        yield self._make(self.active)

    def on_resize(self) -> None:
        """Fit the tabs' names to the width."""
        self._show_tabs()

    def _make(self, name: str) -> Widget:
        self._made[name] = self._makers[name]()
        return self._made[name]

    def pane(self, name: str) -> Widget | None:
        """The pane of that name if it has been made."""
        return self._made.get(name)

    async def _ensure(self, name: str) -> Widget:
        if name not in self._made:
            pane = self._make(name)
            pane.display = name == self.active
            await self.mount(pane)
        return self._made[name]

    async def show(self, name: str) -> Widget:
        """Bring a pane to the front."""
        self.active = name
        chosen = await self._ensure(name)
        for other, pane in self._made.items():
            pane.display = other == name
        self._show_tabs()
        return chosen

    def set_badge(self, name: str, badge: str) -> None:
        """A few characters behind a tab's name, for example the number of errors."""
        if self._badges.get(name, "") != badge:
            self._badges[name] = badge
            self._show_tabs()

    def _show_tabs(self) -> None:
        if not self.size.width:
            return  # hidden: names that fit no width at all would flash up when it is shown
        places = [PLACE[name] for name in self._makers]
        self.border_title = _fitting(places, self.active, self.size.width - 3, self._badges)


class PaneStrip(Static):
    """One row that names every pane, for screens that show one pane at a time."""

    def show(self, active: str, without: set[str], width: int) -> None:
        """Mark the pane that is shown; leave those in ``without`` out."""
        places = [place for place in PLACES if place.name not in without]
        self.update(_fitting(places, active, width, {}))


def _fitting(places: list[Place], active: str, width: int, badges: Mapping[str, str]) -> Content:
    """The longest names that fit, else the shortest."""
    strip = Content()
    for gap, title in ((" ", "title"), (" ", "short"), ("", "short"), ("", "shortest")):
        words = [f"{place.digit}{gap}{getattr(place, title)}{badges.get(place.name, '')}" for place in places]
        strip = tabs(list(zip(places, words, strict=True)), active)
        if strip.cell_length <= width:
            break
    return strip


def tabs(labels: list[tuple[Place, str]], active: str) -> Content:
    """Clickable names; the active one is reversed."""
    parts = []
    for place, words in labels:
        style = "reverse bold" if place.name == active else "$foreground 70%"
        link = f"@click=app.focus_pane('{place.name}')"
        parts.append(Content.from_markup(f"[{style}][{link}] $words [/][/]", words=words))
    return Content("").join(parts)
