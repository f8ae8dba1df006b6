"""Which panes stand in which region; their modules are imported when the pane is first shown."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from textual.containers import Vertical
from textual.widget import Widget

from widgets.frame import PLACE, TabbedRegion
from widgets.state import RunView
from workbench.target import Target

Made = Callable[[str, Widget], None]
"""Told of each pane when it is made: its name, and the pane."""
_CLASSES: dict[str, tuple[str, str, bool]] = {
    "problem": ("widgets.problem", "ProblemPane", True),
    "topology": ("widgets.topology", "TopologyPane", True),
    "reference": ("widgets.reference", "ReferencePane", True),
    "verdict": ("widgets.verdicts", "VerdictPane", True),
    "speed": ("widgets.speed", "SpeedPane", True),
    "history": ("widgets.history", "HistoryPane", True),
    "diagnostics": ("widgets.diagnostics", "DiagnosticsPane", False),
    "log": ("widgets.log", "LogPane", False),
    "model": ("widgets.model", "ModelPane", False),
}
"""Pane -> module, class, and whether it is made for a target."""


def left(target: Target, made: Made) -> TabbedRegion:
    """Problem, topology and reference."""
    return TabbedRegion("left", _makers(("problem", "topology", "reference"), target, made))


def bottom(target: Target, made: Made) -> TabbedRegion:
    """History, diagnostics, log and model."""
    return TabbedRegion("bottom", _makers(("history", "diagnostics", "log", "model"), target, made))


def right(target: Target, made: Made) -> Vertical:
    """The verdict above speed and bandwidth, each in its frame."""
    panes = [_make(name, target, made).add_class("frame") for name in ("verdict", "speed")]
    for pane in panes:
        place = PLACE[pane.id or ""]
        pane.border_title = f"{place.digit} {place.title}"
    return Vertical(*panes, id="right", classes="region")


def badges(region: TabbedRegion, view: RunView) -> None:
    """Numbers on the tabs: errors and warnings."""
    count = len(view.current.diagnostics)
    region.set_badge("diagnostics", f" ({count})" if count else "")


def _makers(names: tuple[str, ...], target: Target, made: Made) -> dict[str, Callable[[], Widget]]:
    return {name: _maker(name, target, made) for name in names}


def _maker(name: str, target: Target, made: Made) -> Callable[[], Widget]:
    return lambda: _make(name, target, made)


def _make(name: str, target: Target, made: Made) -> Widget:
    module, kind, needs_target = _CLASSES[name]
    maker: Any = getattr(import_module(module), kind)
    pane: Widget = maker(target) if needs_target else maker()
    pane.id = name
    made(name, pane)
    return pane


def pane_classes() -> list[type[Widget]]:
    """The classes of all panes."""
    return [getattr(import_module(module), kind) for module, kind, _ in _CLASSES.values()]
