"""Everything a user can do, in one table: it feeds the bindings, the palette, the footer, the help and docs/keys.md.

Contexts: ``everywhere`` also reaches past the editor, ``panes`` are plain keys that the editor would type,
``editor`` belongs to the editor alone. Keys that terminals cannot tell apart (ctrl+m, ctrl+i, ctrl+h, ctrl+j,
ctrl+enter), alt, and the prefixes of tmux and screen (ctrl+a, ctrl+b) are never used.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from workbench.errors import SettingsError

Context = Literal["everywhere", "panes", "editor"]
FORBIDDEN = ("ctrl+m", "ctrl+i", "ctrl+h", "ctrl+j", "ctrl+enter", "ctrl+a", "ctrl+b")


@dataclass(frozen=True)
class Action:
    """One action; ``run`` is what Textual calls, ``keys`` are comma-separated, ``footer`` puts it on the last row."""

    id: str
    title: str
    keys: str
    context: Context
    group: str
    help: str
    run: str = ""
    footer: bool = False

    @property
    def target(self) -> str:
        """The action string that a binding calls: the id itself unless ``run`` says otherwise."""
        return self.run or self.id


ACTIONS: tuple[Action, ...] = (
    Action("save", "Save", "ctrl+s", "everywhere", "Run", "Write the file and judge it at once.", footer=True),
    Action("run_again", "Run", "f2", "everywhere", "Run", "Judge the file as it is on disk once more.", footer=True),
    Action("cancel_run", "Cancel", "f3", "everywhere", "Run", "Stop the running attempt.", footer=True),
    Action("machine_code", "Machine code", "", "everywhere", "Run", "Show machine code of the file's CUDA kernels."),
    Action("propose", "Propose", "", "everywhere", "Model", "Ask the language model.", "model('propose')"),
    Action("proposal", "Proposal", "", "everywhere", "Model", "Show it beside the text.", "model('diff')"),
    Action("try_proposal", "Try the proposal", "", "everywhere", "Model", "Judge it, text untouched.", "model('try')"),
    Action("agent", "Agent loop", "", "everywhere", "Model", "Start the agent loop, or stop it.", "model('agent')"),
    Action("cancel_model", "Cancel the model", "", "everywhere", "Model", "End reply or loop.", "model('cancel')"),
    Action("open_editor", "Editor", "f4", "everywhere", "File", "Edit the file in your own editor.", footer=True),
    Action("compare", "Compare with the file", "", "everywhere", "File", "Show what differs between pane and file."),
    Action("reload", "Take the file from disk", "", "everywhere", "File", "Drop the pane's text, load the file."),
    Action(
        "zoom", "Zoom", "f5", "everywhere", "Screen", "Give the focused pane the whole screen, or back.", footer=True
    ),
    Action("layout", "Layout", "f6", "everywhere", "Screen", "Change between full and results only."),
    Action("hide", "Hide", "f7", "everywhere", "Screen", "Hide the focused pane; going to it brings it back."),
    Action("show_all", "Show all panes", "", "everywhere", "Screen", "Bring every hidden pane back."),
    Action("next_error", "Next error", "f8", "everywhere", "Editor", "Go to the next line with an error or warning."),
    Action("next_theme", "Theme", "f9", "everywhere", "Screen", "Change the colours."),
    Action("help", "Help", "f1", "everywhere", "Help", "What the focused pane shows and its keys.", footer=True),
    Action("keys", "Keys", "f10", "everywhere", "Help", "All keys on one sheet."),
    Action("palette", "Actions", "ctrl+p", "everywhere", "Help", "Find any action by name.", "command_palette", True),
    Action("go", "Go to", "ctrl+o", "everywhere", "Panes", "Go to a pane by its number, from anywhere.", footer=True),
    Action("problems", "Open", "ctrl+t", "everywhere", "File", "Find a problem and open it.", footer=True),
    Action("redraw", "Redraw", "ctrl+l", "everywhere", "Screen", "Draw the screen anew."),
    Action("quit", "Quit", "ctrl+q", "everywhere", "Help", "Leave; asks if text is unsaved or a run is active."),
    Action("quit_panes", "Quit", "q", "panes", "Help", "Leave, outside the editor.", "quit"),
    Action("interrupt", "Quit", "ctrl+c", "panes", "Help", "Twice: leave, outside the editor."),
    Action("suspend", "Suspend", "ctrl+z", "panes", "Screen", "Back to the shell, outside the editor; fg returns."),
    Action("pane_1", "Problem", "1", "panes", "Panes", "Go to the problem.", "focus_pane('problem')"),
    Action("pane_2", "Topology", "2", "panes", "Panes", "Go to the topology.", "focus_pane('topology')"),
    Action("pane_3", "Reference", "3", "panes", "Panes", "Go to the reference code.", "focus_pane('reference')"),
    Action("pane_4", "Editor pane", "4", "panes", "Panes", "Go to the editor.", "focus_pane('editor')"),
    Action("pane_5", "Verdict", "5", "panes", "Panes", "Go to the ranks' verdict.", "focus_pane('verdict')"),
    Action("pane_6", "Speed", "6", "panes", "Panes", "Go to speedup and bandwidth.", "focus_pane('speed')"),
    Action("pane_7", "History", "7", "panes", "Panes", "Go to earlier attempts.", "focus_pane('history')"),
    Action("pane_8", "Diagnostics", "8", "panes", "Panes", "Go to errors and warnings.", "focus_pane('diagnostics')"),
    Action("pane_9", "Log", "9", "panes", "Panes", "Go to the ranks' output.", "focus_pane('log')"),
    Action("pane_0", "Model", "0", "panes", "Panes", "Go to the language model.", "focus_pane('model')"),
    Action("next_pane", "Next pane", "tab", "panes", "Panes", "Go to the next pane.", "app.focus_next"),
    Action("previous_pane", "Previous pane", "shift+tab", "panes", "Panes", "Go back a pane.", "app.focus_previous"),
    Action("leave_editor", "Leave the editor", "escape", "editor", "Panes", "Leave the editor for the next pane."),
    Action("find", "Find", "ctrl+f", "editor", "Editor", "Find text in the editor."),
    Action("find_next", "Find next", "ctrl+n", "editor", "Editor", "Go to the next match.", "find_next(1)"),
    Action("find_previous", "Find previous", "ctrl+r", "editor", "Editor", "Go to the match before.", "find_next(-1)"),
    Action("goto_line", "Go to line", "ctrl+g", "editor", "Editor", "Go to a line by its number."),
    Action("comment", "Comment", "ctrl+underscore", "editor", "Editor", "Comment lines out or in (ctrl+/)."),
    Action("undo", "Undo", "ctrl+z", "editor", "Editor", "Take the last edit back."),
    Action("redo", "Redo", "ctrl+y", "editor", "Editor", "Make the edit again."),
    Action("cut", "Cut", "ctrl+x", "editor", "Editor", "Cut the selection, or the line."),
    Action("copy", "Copy", "ctrl+c", "editor", "Editor", "Copy the selection, or the line."),
    Action("paste", "Paste", "ctrl+v", "editor", "Editor", "Insert what was cut or copied here."),
)
GROUPS = ("Run", "Model", "File", "Editor", "Panes", "Screen", "Help")
BY_ID: Mapping[str, Action] = {action.id: action for action in ACTIONS}


def of_context(*contexts: Context) -> list[Action]:
    """The actions of some contexts that have a key, in the table's order."""
    return [action for action in ACTIONS if action.context in contexts and action.keys]


def check_remaps(keys: Mapping[str, str], known: Iterable[str] = BY_ID) -> None:
    """SettingsError for an action id in ``[ui.keys]`` that does not exist or a key that cannot work."""
    names = list(known)
    for name, value in keys.items():
        if name not in names:
            near = difflib.get_close_matches(name, names, 3, 0.4)
            hint = f": did you mean {' or '.join(near)}?" if near else "; docs/keys.md lists them all"
            raise SettingsError(f"[ui.keys] has no action {name!r}{hint}")
        _check_keys(name, value)


def _check_keys(name: str, value: str) -> None:
    for key in (part.strip() for part in value.split(",")):
        if not key or key in FORBIDDEN[:5]:
            reason = f"terminals cannot tell {key} from another key" if key else "a key is empty"
            raise SettingsError(f"[ui.keys] {name} = {value!r}: {reason}; choose another one")


def shown_keys(keys: str) -> str:
    """Keys as people write them: ``ctrl+underscore`` -> ``ctrl+/``, ``a,b`` -> ``a or b``."""
    names = {"ctrl+underscore": "ctrl+/", "slash": "/", "left_square_bracket": "[", "right_square_bracket": "]"}
    return " or ".join(names.get(key.strip(), key.strip()) for key in keys.split(",")) if keys else "palette"


def rows(remapped: Mapping[str, str] | None = None) -> list[tuple[str, str, str, str, str]]:
    """Id, group, keys, title and help of every action, grouped, with the user's own keys."""
    own = remapped or {}
    ordered = sorted(ACTIONS, key=lambda action: GROUPS.index(action.group))
    return [(one.id, one.group, shown_keys(own.get(one.id, one.keys)), _title(one), one.help) for one in ordered]


def _title(action: Action) -> str:
    return action.title if action.context != "editor" else f"{action.title} (editor)"


def markdown() -> str:
    """docs/keys.md."""
    from workbench.keys_page import page

    return page()


if __name__ == "__main__":
    print(markdown(), end="")
