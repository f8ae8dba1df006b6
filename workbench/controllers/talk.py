"""Dialogs: questions to the user, help, earlier attempts, the clipboard, the external editor."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

from textual.screen import Screen

from workbench.actions import rows
from workbench.target import Source

if TYPE_CHECKING:
    from sessions.recovery import Recovered
    from workbench.app import Workbench

_OSC52_BYTES = 74_000
"""Many terminals drop longer clipboard sequences."""


class Talk:
    """Asks and tells on behalf of the app; screens are imported when first shown."""

    def __init__(self, app: Workbench) -> None:
        self._app = app
        self._asking = False

    def _ask(self, screen: Screen[Any]) -> asyncio.Future[Any]:
        """Show a dialog at once, so that keys typed ahead are its own; its result comes later."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

        def give(result: Any) -> None:
            if not answer.done():
                answer.set_result(result)

        self._app.push_screen(screen, give)
        return answer

    def quit(self) -> None:
        """Leave, after a question where something would be lost."""
        app = self._app
        dirty = app.open_desk is not None and app.editor_pane.dirty
        busy = app.open_desk is not None and (app.runs.busy or app.desk.model.busy)
        if not dirty and not busy:
            app.background(app.leave(), "quit")
        elif not self._asking:
            self._asking = True
            app.background(self._leave_after(self._ask_quit(dirty)), "quit")

    async def _leave_after(self, question: asyncio.Future[Any]) -> None:
        try:
            answer = await question
        finally:
            self._asking = False
        if answer == "discard":
            await self._app.files.give_up()
        if answer in ("leave", "discard") or (answer == "save" and await self.save()):
            await self._app.leave()

    def _ask_quit(self, dirty: bool) -> asyncio.Future[Any]:
        from widgets.screens.question import Answer, Question

        stay = Answer("n", "stay", "stay")
        if dirty:
            answers = [Answer("s", "save", "save and quit"), Answer("d", "discard", "quit without saving"), stay]
            return self._ask(Question("Quit", "The editor holds text that is not saved.", answers))
        answers = [Answer("y", "leave", "cancel it and quit"), stay]
        return self._ask(
            Question("Quit", "A run is active." if self._app.runs.busy else "The model is at work.", answers)
        )

    async def may_leave_file(self) -> bool:
        """Ask what becomes of text that is not saved, when another file is about to be opened; False to stay."""
        from widgets.screens.question import Answer, Question

        if self._app.open_desk is None or not self._app.editor_pane.dirty:
            return True
        answers = [
            Answer("s", "save", "save"),
            Answer("k", "keep", "keep for later"),
            Answer("d", "discard", "discard"),
            Answer("n", "stay", "stay"),
        ]
        text = f"The editor holds text of {self._app.target.path.name} that is not saved."
        answer = await self._ask(Question("Open another problem", text, answers))
        if answer == "discard":
            await self._app.files.give_up()
        elif answer == "keep":
            return await self._app.files.keep_unsaved()
        return answer == "discard" or (answer == "save" and await self.save())

    async def save(self) -> bool:
        """Save the pane's text, unless another program saved the file meanwhile: then that comes first."""
        newer = await self._app.files.newer()
        if newer is None:
            return await self._app.files.save()
        if self._app.editor_pane.dirty:
            await self.ask_conflict(newer)
            return False
        await self._app.files.run_again()
        return True

    async def ask_conflict(self, disk: Source, by_another: bool = True) -> None:
        """The pane holds text of its own, and another program changed the file, or the user asks for what is in it."""
        if self._asking:
            return
        self._asking = True
        try:
            answer = await self._ask_conflict(disk.text, by_another)
        finally:
            self._asking = False
        if answer == "disk":
            await self._app.files.take_disk()
        else:
            latest = await self._app.files.read()
            self._app.files.keep_mine(latest or disk)
            self._app.tell("your text stays in the editor, not saved; saving it replaces the file", "information")

    async def _ask_conflict(self, disk: str, by_another: bool) -> str:
        from widgets.screens.question import Answer, Difference, Question

        name = self._app.target.path.name
        mine = self._app.editor_pane.editor.text
        answers = [Answer("t", "disk", "take the file"), Answer("k", "mine", "keep my text")]
        title, text = "Take the file from disk", "The editor holds text that is not saved."
        if by_another:
            title = "The file changed on disk"
            text = f"{name} was changed by another program, and the editor holds text that is not saved."
        difference = Difference(mine, disk, "your text", "the file on disk")
        return str(await self._ask(Question(title, text, answers, difference)))

    async def offer_recovered(self, recovered: Recovered) -> None:
        """Offer text that was not saved when pkwb last ended."""
        from widgets.screens.question import Answer, Difference, Question

        app = self._app
        when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(recovered.when))
        answers = [
            Answer("r", "restore", "put it into the editor"),
            Answer("d", "discard", "discard it"),
            Answer("l", "later", "decide later"),
        ]
        difference = Difference(app.editor_pane.editor.text, recovered.text, "the file on disk", "the unsaved text")
        text = f"Text from {when} was not saved when pkwb ended. It is also in {recovered.kept_at}."
        answer = await self._ask(Question("Unsaved text was found", text, answers, difference))
        if answer == "restore":
            app.files.restore(recovered)
            app.tell("restored, not saved yet", "information")
        elif answer == "discard":
            await app.files.give_up()
        else:
            app.files.put_back()

    async def compare(self) -> None:
        """Show what differs between the pane and the file."""
        from widgets.screens.question import Answer, Difference, Question

        disk = await self._app.files.read()
        mine = self._app.editor_pane.editor.text
        if disk is None or disk.text == mine:
            self._app.tell("the editor holds what the file holds", "information")
            return
        difference = Difference(disk.text, mine, "the file on disk", "your text")
        await self._ask(Question("Editor and file", "", [Answer("c", "close", "close")], difference))

    async def reload(self) -> None:
        """Take the file from disk, after a question where text would be lost."""
        disk = await self._app.files.read()
        if disk is None:
            return
        if self._app.editor_pane.dirty and disk.text != self._app.editor_pane.editor.text:
            await self.ask_conflict(disk, by_another=False)
        else:
            await self._app.files.take_disk()

    async def show_attempt(self, attempt_id: int) -> None:
        """Show an earlier attempt; it can be restored into the editor or copied."""
        from widgets.screens.attempt import AttemptScreen

        found = await self._app.runs.attempt(attempt_id)
        if found is None:
            self._app.tell("the attempt is no longer in the session store", "warning")
            return
        attempt, source = found
        name = f"attempt {attempt.name(self._app.runs.sitting)}"
        answer = await self._ask(AttemptScreen(attempt, name, source, self._app.editor_pane.editor.text))
        if answer == "restore":
            self._app.editor_pane.editor.merge_text(source)
            await self._app.arrangement.go("editor")
            self._app.tell(f"{name} is in the editor; save to run it, undo to go back", "information")
        elif answer == "copy":
            self.copy(source, name)

    async def show_machine_code(self) -> None:
        """Show what the file on disk compiles to on a GPU: machine code, or PTX where nothing here can show that."""
        from widgets.screens.code import CodeScreen

        disk = await self._app.files.read()
        if disk is None:
            return
        if self._app.runs.busy:
            self._app.tell("a run is active, which compilers would slow down: look when it has ended", "warning")
            return
        code, reason = await self._app.runs.kernel_code(disk, "sass")
        ptx, why_not = ("", "") if code else await self._app.runs.kernel_code(disk, "ptx")
        if code or ptx:
            title = "Machine code" if code else f"PTX ({reason})"
            self._app.push_screen(CodeScreen(f"{title}: {disk.path.name}", code or ptx))
        else:
            self._app.tell(why_not, "warning")

    def go(self) -> None:
        """Ask for a pane's number and go there."""
        from widgets.screens.go import GoScreen

        self._app.background(self._go_to(self._ask(GoScreen())), "go")

    async def _go_to(self, question: asyncio.Future[Any]) -> None:
        name = await question
        if name:
            await self._app.arrangement.go(name)

    def help(self) -> None:
        """Help for the focused pane: its own words, then the keys."""
        from widgets.screens.help import HelpScreen

        node = self._app.focused
        while node is not None and not getattr(node, "HELP", ""):
            node = node.parent  # type: ignore[assignment]
        self._app.push_screen(HelpScreen("Help", getattr(node, "HELP", "") or "", self._key_rows()))

    def key_sheet(self) -> None:
        """All keys on one sheet."""
        from widgets.screens.help import HelpScreen

        self._app.push_screen(HelpScreen("Keys", "", self._key_rows()))

    def _key_rows(self) -> list[tuple[str, str, str, str]]:
        return [row[1:] for row in rows(self._app.settings.ui.keys)]

    def copy(self, text: str, what: str) -> None:
        """Copy by OSC 52 and into a file, and say what was done: no terminal confirms either."""
        app = self._app
        app.send_to_clipboard(text) if len(text.encode()) <= _OSC52_BYTES else None
        app.background(self._copy_to_file(text, what), "copy")

    async def _copy_to_file(self, text: str, what: str) -> None:
        from workbench.files import state_dir, write_atomic

        path = state_dir() / "clipboard.txt"
        kept = ""
        with contextlib.suppress(Exception):
            path.parent.mkdir(parents=True, exist_ok=True)
            await asyncio.to_thread(write_atomic, path, text)
            kept = f" Also in {path}."
        size = len(text.encode())
        if size > _OSC52_BYTES:
            self._app.tell(f"{what}: {size} bytes are too many for a terminal's clipboard.{kept}", "warning")
            return
        tmux = " Inside tmux this needs `set -s set-clipboard on`." if os.environ.get("TMUX") else ""
        self._app.tell(f"{what}: {size} bytes sent to the terminal's clipboard by OSC 52.{tmux}{kept}", "information")

    async def edit_outside(self) -> None:
        """Save, edit the file in the user's own editor, then look at it again."""
        from workbench.controllers.external import edit_file

        app = self._app
        if app.editor_pane.dirty and not await self.save():
            return
        row = app.editor_pane.editor.cursor_location[0] + 1
        trouble = await edit_file(app, app.target.path, row, app.settings.ui.editor)
        app.forget_screen()
        if trouble:
            app.tell(trouble, "error")
        blocked = await app.files.changed()
        if blocked is not None:
            await self.ask_conflict(blocked)
