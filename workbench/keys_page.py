"""docs/keys.md, made from the table of actions and from the panes' own keys."""

from __future__ import annotations

from workbench.actions import GROUPS, rows, shown_keys
from workbench.opening import pane_bindings

_HEAD = """# Keys

Made from the table of actions: `python -m workbench.actions > docs/keys.md`. The palette (ctrl+p) lists every action
by name. Any key can be changed by the action's id: `keys = {save = "ctrl+s,f2"}` in the `[ui]` section of the settings.

Shift and drag selects text with the terminal's own means; `mouse = false` in `[ui]` leaves the mouse to the terminal.
"""


def page() -> str:
    """The page."""
    parts = [_HEAD]
    for group in GROUPS:
        lines = [f"| {keys} | {title} | {help} | `{id}` |" for id, at, keys, title, help in rows() if at == group]
        parts.append("\n".join([f"## {group}\n", "| key | action | | id |", "|---|---|---|---|", *lines]) + "\n")
    own = [
        f"| {shown_keys(binding.key)} | {binding.description} | `{binding.id}` |"
        for binding in pane_bindings()
        if binding.id
    ]
    table = ["## In panes that are read, and in dialogs\n", "| key | action | id |", "|---|---|---|", *own]
    return "\n".join([*parts, "\n".join(table)]) + "\n"
