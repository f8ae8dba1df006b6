"""From the table of actions to Textual's bindings and palette."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.binding import Binding, BindingType

from widgets.editor import KernelEditor, movement_bindings
from workbench.actions import ACTIONS, Action, of_context


def app_bindings() -> list[BindingType]:
    """The app's own keys. Those for everywhere come before the editor's; plain keys reach the app past other panes."""
    return [_binding(action) for action in of_context("everywhere", "panes")]


def palette_actions() -> Iterator[Action]:
    """The actions that the palette lists: those that make sense from anywhere."""
    return (action for action in ACTIONS if action.context == "everywhere" and action.id != "palette")


def _binding(action: Action) -> Binding:
    everywhere = action.context == "everywhere"
    return Binding(
        action.keys,
        action.target,
        action.title,
        show=action.footer,
        priority=everywhere,
        tooltip=action.help,
        id=action.id,
    )


def _editor_keys() -> set[str]:
    return {key for action in of_context("editor") for key in action.keys.split(",")}


class WorkbenchEditor(KernelEditor):
    """The editor with the keys of the table."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *movement_bindings(_editor_keys()),
        *(_binding(action) for action in of_context("editor")),
    ]
