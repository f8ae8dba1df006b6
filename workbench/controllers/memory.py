"""What the user chose on screen, kept for the next sitting: theme, layout, hidden panes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from widgets.frame import FRAMES
from workbench.config import THEMES, Settings
from workbench.files import read_json, state_dir, write_json


@dataclass(frozen=True)
class Look:
    """A screen as it is arranged: ``results`` is the layout without the editor, ``hidden`` names frames."""

    theme: str
    results: bool
    hidden: tuple[str, ...] = ()


def remembered(settings: Settings) -> Look:
    """The look of the last sitting; what settings files and flags say comes first."""
    kept = _read()
    theme, results, hidden = kept.get("theme"), kept.get("results"), kept.get("hidden")
    return Look(
        theme=str(theme) if theme in THEMES and "ui.theme" not in settings.given else settings.ui.theme,
        results=results if isinstance(results, bool) and "ui.layout" not in settings.given else _results(settings),
        hidden=tuple(name for name in hidden if name in FRAMES) if isinstance(hidden, list) else (),
    )


def remember(before: Look, now: Look) -> None:
    """Keep what was changed on screen, and nothing else; blocking. UsageError where that cannot be written."""
    old = asdict(before)
    changes = {name: value for name, value in asdict(now).items() if value != old[name]}
    write_json(_place(), {**_read(), **changes})


def _results(settings: Settings) -> bool:
    return settings.ui.layout == "results"


def _read() -> dict[str, Any]:
    kept = read_json(_place())
    return kept if isinstance(kept, dict) else {}


def _place() -> Path:
    return state_dir() / "screen.json"
