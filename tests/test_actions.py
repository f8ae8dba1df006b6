"""The table of actions: keys that arrive, no clash, and documents that match."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from workbench.actions import ACTIONS, BY_ID, FORBIDDEN, GROUPS, check_remaps, markdown
from workbench.app import Workbench
from workbench.bindings import WorkbenchEditor
from workbench.errors import SettingsError
from workbench.opening import all_binding_ids, pane_bindings
from workbench.settings import load_settings

ROOT = Path(__file__).resolve().parent.parent


def keys(text: str) -> list[str]:
    """The single keys of a comma-separated list."""
    return [key.strip() for key in text.split(",") if key.strip()]


def test_no_key_that_terminals_swallow() -> None:
    """No action needs a key that a terminal cannot send or that tmux and screen take."""
    used = [key for action in ACTIONS for key in keys(action.keys)]
    used += [key for binding in pane_bindings() for key in keys(binding.key)]
    used += [key for key, bindings in WorkbenchEditor._merged_bindings.key_to_bindings.items() if bindings]  # type: ignore[union-attr]

    assert not [key for key in used if key in FORBIDDEN or "alt+" in key or "super+" in key]


def test_no_two_actions_on_one_key() -> None:
    """Within a context each key does one thing, and keys for everywhere are free in every context."""
    for one, other in itertools.combinations(ACTIONS, 2):
        if one.context == other.context or "everywhere" in (one.context, other.context):
            assert not set(keys(one.keys)) & set(keys(other.keys)), f"{one.id} and {other.id}"


def test_panes_leave_the_app_its_keys() -> None:
    """No pane takes a key of the app but the log, for its ranks; dialogs take those that open or leave them."""
    theirs = {key for action in ACTIONS if action.context != "editor" for key in keys(action.keys)}
    found = {(key, (binding.id or "").partition(".")[0]) for binding in pane_bindings() for key in keys(binding.key)}
    taken = {(key, owner) for key, owner in found if key in theirs}

    assert {owner for key, owner in taken if key.isdigit()} == {"log"}
    assert {key for key, _ in taken if not key.isdigit()} <= {"f1", "f10", "ctrl+o", "q", "ctrl+c", "ctrl+z"}


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_can_be_done(action) -> None:  # type: ignore[no-untyped-def]
    """Each action has a method behind it, a group and a sentence of help."""
    name = action.target.partition("(")[0].removeprefix("app.")
    owner = WorkbenchEditor if action.context == "editor" else Workbench

    assert hasattr(owner, f"action_{name}")
    assert action.group in GROUPS
    assert action.help.endswith(".")


def test_ids_are_unique() -> None:
    """An id in the settings means one action."""
    assert len(BY_ID) == len(ACTIONS)


def test_keys_page_is_up_to_date() -> None:
    """docs/keys.md is what the table says; `python -m workbench.actions > docs/keys.md` makes it."""
    assert (ROOT / "docs" / "keys.md").read_text() == markdown()


def test_unknown_action_names_near_ones() -> None:
    """A slip in [ui.keys] is answered with the nearest ids."""
    with pytest.raises(SettingsError, match="did you mean save"):
        check_remaps({"sve": "f2"}, all_binding_ids())


@pytest.mark.parametrize("key", ["ctrl+m", "ctrl+i", "", "f2,,f3"])
def test_key_that_cannot_work(key: str) -> None:
    """A key that a terminal cannot tell apart is refused with the reason."""
    with pytest.raises(SettingsError, match="choose another"):
        check_remaps({"save": key})


def test_unknown_theme_names_the_themes(tmp_path: Path) -> None:
    """A theme that does not exist is answered with its place and the themes that do."""
    (tmp_path / "pkwb.toml").write_text('[ui]\ntheme = "light"\n')
    with pytest.raises(
        SettingsError, match=r"pkwb\.toml:2: ui\.theme is 'light'; choose one of: pkwb-dark, pkwb-light"
    ):
        load_settings(cwd=tmp_path)


def test_pane_keys_can_be_changed_too() -> None:
    """The ids of panes and dialogs are known."""
    check_remaps({"reading.down": "s", "find.close": "f3"}, all_binding_ids())
