"""Choosing a problem: the list of all, and opening another one in place of the one on screen."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from problems.loader import catalogue
from problems.model import Entry
from sessions.model import Standing
from workbench.errors import PkwbError
from workbench.resolve import ensure_working_file
from workbench.target import Target

if TYPE_CHECKING:
    from widgets.screens.picker import PickerScreen
    from workbench.app import Workbench
    from workbench.config import Settings


class Picking:
    """Shows the list and opens what is chosen; nothing of it blocks the screen."""

    def __init__(self, app: Workbench) -> None:
        self._app = app
        self._screen: PickerScreen | None = None
        self.opening = False
        """Whether a problem has been chosen and is not on screen yet."""

    def show(self) -> None:
        """Show the list at once; what it lists comes when it has been read."""
        from widgets.screens.picker import PickerScreen

        desk = self._app.open_desk
        self._screen = PickerScreen(desk.target.problem.stem if desk is not None else "")
        self._app.push_screen(self._screen, self._closed)
        self._app.background(self._fill(self._screen), "picking")

    async def choose(self, stem: str) -> None:
        """Open a problem; where that is not possible say why and leave everything as it is."""
        if self.opening or self._screen is None:
            return
        self.opening = True
        try:
            await self._open(stem, self._screen)
        except PkwbError as error:
            self._app.tell(str(error), "error")
        finally:
            self.opening = False

    async def _open(self, stem: str, screen: PickerScreen) -> None:
        app = self._app
        if app.open_desk is None or app.target.problem.stem != stem:
            target = await asyncio.to_thread(app.opener.target, stem)
            if not await app.talk.may_leave_file():
                return
            text = await asyncio.to_thread(_first_text, target)
            screen.say(f"opening {stem}")
            await app.change_desk(target, text)
            screen.say("")
        screen.dismiss()

    async def _fill(self, screen: PickerScreen) -> None:
        try:
            entries, known, trouble = await asyncio.to_thread(_read, self._app.settings)
        except PkwbError as error:
            self._app.tell(str(error), "error")
            screen.dismiss()
            return
        screen.fill(entries, known)
        if trouble:
            self._app.tell(trouble, "warning")

    def _closed(self, _result: None) -> None:
        self._screen = None
        if self._app.open_desk is None:
            self._app.background(self._app.leave(), "quit")


def _read(settings: Settings) -> tuple[list[Entry], dict[str, Standing], str]:
    from workbench.stores import standings

    return catalogue(settings.problems.paths, settings.problems.pkb), *standings(settings)


def _first_text(target: Target) -> str:
    from workbench.opening import first_text

    ensure_working_file(target)
    return first_text(target.path)
