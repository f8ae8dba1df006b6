"""The user's own editor on the real file, while runs, events and results go on behind it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported


def editor_command(setting: str) -> list[str]:
    """The words of the editor's command: the setting, else $VISUAL, $EDITOR, vi."""
    chosen = setting or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    return shlex.split(chosen)


async def edit_file(app: App[Any], path: Path, line: int, setting: str) -> str:
    """Give the terminal to the editor until it ends; what went wrong, or an empty string.

    Output is held back by ``batch_update``: a write to the suspended driver would fill its queue and block the loop.
    The keys that interrupt programs (ctrl+c, ctrl+\\) reach pkwb too while the terminal is not its own.
    """
    trouble = ""
    try:
        command = [*editor_command(setting), *_at_line(editor_command(setting), line), str(path)]
        with app.suspend(), app.batch_update(), _deaf_to(signal.SIGINT, signal.SIGQUIT):
            trouble = await _wait_for(command)
    except SuspendNotSupported:
        return "this terminal cannot be handed to another program"
    except ValueError as error:
        return f"the editor's command cannot be understood: {error}"
    return trouble


@contextlib.contextmanager
def _deaf_to(*numbers: signal.Signals) -> Iterator[None]:
    """These signals do nothing to pkwb; programs that it starts get them as usual."""
    before = [(number, signal.signal(number, lambda *_: None)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


async def _wait_for(command: list[str]) -> str:
    try:
        process = await asyncio.create_subprocess_exec(*command)
        code = await process.wait()
    except OSError as error:
        return f"{command[0]} cannot be started ({error.strerror}): set ui.editor, $VISUAL or $EDITOR"
    return f"{command[0]} ended with code {code}" if code else ""


def _at_line(command: list[str], line: int) -> list[str]:
    """``+LINE`` for the editors that are known to take it."""
    known = {"vi", "vim", "nvim", "nano", "emacs", "micro", "kak", "joe", "ne", "mg"}
    return [f"+{line}"] if command and Path(command[0]).name in known and line > 1 else []
