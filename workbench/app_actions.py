"""What each action of the table does in the app."""

from __future__ import annotations

import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from textual.widget import Widget

from widgets.rowdiff import RowDiff
from workbench.config import THEMES

if TYPE_CHECKING:
    from widgets.editor_pane import EditorPane
    from widgets.state import RunView
    from workbench.controllers.layout import LayoutControl
    from workbench.controllers.picking import Picking
    from workbench.controllers.runs import RunControl
    from workbench.controllers.talk import Talk
    from workbench.controllers.work_file import FileControl
    from workbench.desk import Desk
    from workbench.target import Target

_TWICE_SECONDS = 3.0


class AppActions(RowDiff):
    """Mixin for the app: one short method for each action, none of which blocks."""

    arrangement: LayoutControl
    talk: Talk
    picking: Picking
    open_desk: Desk | None = None
    """The problem that is being worked on; None until the first one has been chosen."""
    _interrupted = 0.0

    @property
    def desk(self) -> Desk:
        """The problem that is being worked on, where there must be one."""
        assert self.open_desk is not None
        return self.open_desk

    @property
    def target(self) -> Target:
        """What is judged, and where."""
        return self.desk.target

    @property
    def editor_pane(self) -> EditorPane:
        """The pane with the working file."""
        return self.desk.editor_pane

    @property
    def runs(self) -> RunControl:
        """The runs of the problem on screen."""
        return self.desk.runs

    @property
    def files(self) -> FileControl:
        """Its working file."""
        return self.desk.files

    @property
    def view(self) -> RunView:
        """What the events so far have made known."""
        return self.desk.view

    @property
    def panes(self) -> dict[str, Widget]:
        """Its panes by name, as far as they have been made."""
        return self.desk.panes

    def background(self, job: Coroutine[Any, Any, Any], group: str) -> None:
        """Run a coroutine beside the screen."""
        raise NotImplementedError

    def keep_look(self) -> None:
        """Remember theme and layout."""
        raise NotImplementedError

    def tell(self, text: str, severity: str) -> None:
        """Show a message."""
        raise NotImplementedError

    def action_save(self) -> None:
        """Write the file and judge it."""
        self.background(self.talk.save(), "save")

    def action_run_again(self) -> None:
        """Judge the file as it is on disk."""
        self.background(self.files.run_again(), "save")

    def action_cancel_run(self) -> None:
        """Stop the running attempt."""
        if self.runs.cancel():
            return
        if self.desk.model.busy:
            self.background(self.desk.model.do("cancel"), "model")
        else:
            self.tell("nothing is running", "information")

    async def action_model(self, what: str) -> None:
        """Go to the model pane, and do there what is wanted."""
        await self.arrangement.go("model")
        self.background(self.desk.model.do(what), "model")

    def action_machine_code(self) -> None:
        """Show the machine code of the file's kernels."""
        self.background(self.talk.show_machine_code(), "talk")

    def action_open_editor(self) -> None:
        """Edit the file in the user's own editor."""
        self.background(self.talk.edit_outside(), "outside")

    def action_compare(self) -> None:
        """Show what differs between the pane and the file."""
        self.background(self.talk.compare(), "talk")

    def action_reload(self) -> None:
        """Take the file from disk."""
        self.background(self.talk.reload(), "talk")

    def action_problems(self) -> None:
        """Show all problems, to open another one."""
        self.picking.show()

    def action_zoom(self) -> None:
        """Give the active pane the whole screen, or take it back."""
        self.arrangement.zoom()

    async def action_layout(self) -> None:
        """Full or results only."""
        await self.arrangement.toggle_results()

    async def action_hide(self) -> None:
        """Hide the active pane."""
        self.tell(await self.arrangement.hide(), "information")

    def action_show_all(self) -> None:
        """Bring every pane back."""
        self.arrangement.show_all()

    async def action_next_error(self) -> None:
        """Go to the next marked line."""
        mark = self.editor_pane.editor.next_mark()
        if mark is None:
            self.tell("no line has an error or warning", "information")
            return
        await self.arrangement.go("editor")
        self.editor_pane.editor.go_to(mark.line + 1)

    def action_next_theme(self) -> None:
        """Change the colours."""
        names = list(THEMES)
        self.theme = names[(names.index(self.theme) + 1) % len(names)] if self.theme in names else names[0]
        self.keep_look()
        self.tell(f"theme {self.theme}", "information")

    def action_help(self) -> None:
        """Help for the focused pane."""
        self.talk.help()

    def action_keys(self) -> None:
        """All keys."""
        self.talk.key_sheet()

    def action_go(self) -> None:
        """Ask for a pane's number."""
        self.talk.go()

    async def action_focus_pane(self, name: str) -> None:
        """Go to a pane."""
        await self.arrangement.go(name)

    def action_redraw(self) -> None:
        """Draw the screen anew."""
        self.forget_screen()
        self.refresh(layout=True)

    def action_suspend(self) -> None:
        """Back to the shell until fg."""
        self.action_suspend_process()

    def action_interrupt(self) -> None:
        """Quit at the second time within a few seconds."""
        now = time.monotonic()
        if now - self._interrupted < _TWICE_SECONDS:
            self.talk.quit()
            return
        self._interrupted = now
        self.tell("press ctrl+c again to quit", "information")

    async def action_quit(self) -> None:
        """Leave; asks where text is unsaved or a run is active."""
        self.talk.quit()
