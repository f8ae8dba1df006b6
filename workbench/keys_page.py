"""docs/keys.md, made from the table of actions and from the panes' own keys."""

from __future__ import annotations

from workbench.actions import GROUPS, rows, shown_keys
from workbench.opening import pane_bindings

_HEAD = """# Keys

Made from the table of actions: `python -m workbench.actions > docs/keys.md`. The palette (ctrl+p) lists every action
by name. Any key can be changed by the action's id: `keys = {save = "ctrl+s,f2"}` in the `[ui]` section of the settings.

Shift and drag selects text with the terminal's own means; `mouse = false` in `[ui]` leaves the mouse to the terminal.
"""
_PANES = {
    "reading": "Every pane that is read",
    "log": "Log",
    "model": "Language model",
    "remark": "Remark to the model",
}
_DIALOGS = {
    "find": "Find bar of the editor",
    "attempt": "An earlier attempt",
    "proposal": "A proposal, beside the text",
    "question": "Questions",
    "help": "Help",
    "go": "Go to",
    "picker": "Problems",
    "code": "Machine code",
}
_OWNERS = _PANES | _DIALOGS


def page() -> str:
    """The page."""
    return "\n".join([_HEAD, *_actions(), *_own_keys()])


def _actions() -> list[str]:
    parts = []
    for group in GROUPS:
        lines = [f"| {keys} | {title} | {help} | `{id}` |" for id, at, keys, title, help in rows() if at == group]
        parts += [f"## {group}\n", "| key | action | | id |", "|---|---|---|---|", *lines, ""]
    return parts


def _own_keys() -> list[str]:
    found = [(binding.id.partition(".")[0], binding) for binding in pane_bindings() if binding.id]
    parts = ["## In panes and dialogs\n", "| where | key | action | id |", "|---|---|---|---|"]
    for owner in [*_OWNERS, *sorted({name for name, _ in found} - set(_OWNERS))]:
        parts += [
            f"| {_OWNERS.get(owner, owner)} | {shown_keys(binding.key)} | {binding.description} | `{binding.id}` |"
            for name, binding in found
            if name == owner
        ]
    return [*parts, ""]
