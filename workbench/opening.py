"""What must be right before the screen opens: the file's text, and the user's keys."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from textual.binding import Binding
from textual.dom import DOMNode

from workbench.actions import BY_ID
from workbench.source import read_source

_KEYED_MODULES = (
    "widgets.editor_find",
    "widgets.remark",
    "widgets.screens.attempt",
    "widgets.screens.code",
    "widgets.screens.go",
    "widgets.screens.help",
    "widgets.screens.picker",
    "widgets.screens.proposal",
    "widgets.screens.question",
)


def first_text(path: Path) -> str:
    """The working file's text; an empty file may be opened, one that is no text may not."""
    return read_source(path, allow_empty=True).text


def all_binding_ids() -> set[str]:
    """Every id that ``[ui.keys]`` may name: the table's, and those of panes and dialogs."""
    return set(BY_ID) | {binding.id for binding in pane_bindings() if binding.id}


def pane_bindings() -> Iterator[Binding]:
    """The keys that belong to panes and dialogs."""
    from workbench.panes import pane_classes

    modules = [import_module(name) for name in _KEYED_MODULES]
    kinds: list[type] = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    seen: set[tuple[str, str]] = set()
    for kind in [*pane_classes(), *kinds]:
        for binding in _bindings_of(kind):
            if (binding.id or "", binding.key) not in seen:
                seen.add((binding.id or "", binding.key))
                yield binding


def _bindings_of(kind: type) -> Iterator[Binding]:
    for base in kind.__mro__:
        if issubclass(base, DOMNode) and base.__module__.startswith("widgets."):
            yield from (item for item in base.__dict__.get("BINDINGS", []) if isinstance(item, Binding))
