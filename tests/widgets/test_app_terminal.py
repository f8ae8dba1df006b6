"""The app in a real terminal: what only a terminal shows."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.widgets.terminal import Terminal, demo


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for the working file."""
    return tmp_path


def state_of(terminal: Terminal) -> str:
    """The process's state letter, T for stopped."""
    return Path(f"/proc/{terminal.process.pid}/stat").read_text().rpartition(")")[2].split()[0]


def make_editor(folder: Path, *lines: str) -> str:
    """A program that stands for the user's editor; $1 is the file."""
    program = folder / "my_editor"
    program.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    program.chmod(0o755)
    return str(program)


def test_external_editor_while_events_arrive(folder: Path) -> None:
    """While the user's own editor has the terminal, events go on arriving; the app comes back with the edited file."""
    waiting = folder / "go_on"
    editor = make_editor(
        folder, "echo my editor is open", f"while [ ! -e {waiting} ]; do sleep 0.05; done", 'echo "# edited" >> "$1"'
    )
    with demo(folder, DEMO_TICK="0.01", VISUAL=editor) as terminal:
        terminal.until("timed 100/100")
        terminal.type("\x1bOS")
        terminal.until("my editor is open")
        terminal.read(1.5)
        waiting.touch()
        terminal.until("# edited")
        terminal.until("#2 ")
        terminal.type("\x11")

        assert terminal.process.wait(20) == 0


def test_interrupt_in_the_external_editor(folder: Path) -> None:
    """ctrl+c in the user's own editor is the editor's affair: pkwb is there afterwards, with its text."""
    editor = make_editor(folder, "trap 'exit 3' INT", "echo my editor is open", "while true; do sleep 0.05; done")
    with demo(folder, VISUAL=editor) as terminal:
        terminal.until("timed 100/100")
        terminal.type("\x1bOS")
        terminal.until("my editor is open")
        terminal.type("\x03")
        terminal.until("ended with code 3")
        terminal.type("typed after")
        terminal.until("typed after")


def test_missing_external_editor(folder: Path) -> None:
    """An editor that does not exist is named, with the settings that choose one, and the app goes on."""
    with demo(folder, VISUAL="/no/such/editor") as terminal:
        terminal.until("timed 100/100")
        terminal.type("\x1bOS")
        terminal.until("cannot be started")
        terminal.until("ranks ready")
        terminal.type("typed after")
        terminal.until("typed after")


def test_suspend_and_return(folder: Path) -> None:
    """ctrl+z outside the editor goes back to the shell, and the screen is whole again after fg."""
    with demo(folder, DEMO_TICK="0.02") as terminal:
        terminal.until("timed 100/100")
        terminal.type("\x1b")
        terminal.quiet()
        terminal.type("\x1a")
        terminal.until(lambda: state_of(terminal) == "T")
        terminal.screen.reset()
        terminal.process.send_signal(signal.SIGCONT)
        terminal.until("1 Problem")
        terminal.until("timed 100/100")
        terminal.until("5 Verdict")


@pytest.mark.parametrize("how", ["hang up", "SIGHUP", "SIGTERM"])
def test_ending_from_outside(folder: Path, how: str) -> None:
    """A dropped connection or a signal ends the app soon, and unsaved text is offered at the next start."""
    with demo(folder) as terminal:
        terminal.until("timed 100/100")
        terminal.type("precious")
        terminal.until("precious")
        if how == "hang up":
            terminal.hang_up()
        else:
            terminal.process.send_signal(getattr(signal, how))
            terminal.quiet()
        assert terminal.process.wait(20) in (128 + signal.SIGHUP, 128 + signal.SIGTERM)

    with demo(folder) as terminal:
        terminal.until("Unsaved text was found")
        terminal.type("r")
        terminal.until("not saved")
        terminal.until("precious")


def test_kill_keeps_text_of_a_second_ago(folder: Path) -> None:
    """Text typed a second before kill -9 is offered at the next start."""
    with demo(folder) as terminal:
        terminal.until("timed 100/100")
        terminal.type("precious")
        terminal.until(lambda: list(folder.glob("state/recovery/*.json")))
        terminal.process.kill()
        terminal.process.wait()

    with demo(folder) as terminal:
        terminal.until("Unsaved text was found")
        terminal.type("r")
        terminal.until("precious")


def test_resize_to_tiny_and_back(folder: Path) -> None:
    """A terminal that is too small says the size that is needed, and the panes come back with the room."""
    with demo(folder) as terminal:
        terminal.until("timed 100/100")
        terminal.resize(50, 12)
        terminal.until("60x15")
        terminal.resize(160, 48)
        terminal.until("5 Verdict")
        terminal.until("1 Problem")

        assert "too small" not in terminal.text


def test_mouse_off(folder: Path) -> None:
    """With ui.mouse off the terminal keeps the mouse: no tracking is switched on."""
    with demo(folder, DEMO_MOUSE="0") as terminal:
        terminal.until("timed 100/100")

        assert b"\x1b[?1003h" not in terminal.raw


def test_no_colour(folder: Path) -> None:
    """With NO_COLOR everything is grey, and the verdict is still there in words."""
    with demo(folder, NO_COLOR="1") as terminal:
        terminal.until("ok, 5 of 5 trials")
        cells = [cell for row in terminal.screen.buffer.values() for cell in row.values()]
        colours = {cell.fg for cell in cells} | {cell.bg for cell in cells}

        assert all(colour == "default" or len({colour[:2], colour[2:4], colour[4:]}) == 1 for colour in colours)


def test_fresh_screen_equals_the_incremental_one(folder: Path) -> None:
    """What was drawn change by change is what a redraw from nothing shows."""
    with demo(folder) as terminal:
        terminal.until("timed 100/100")
        for keys in ("hello", "\x1b[B\x1b[B", "\r\r", "\x06torch", "\x1b", "\x1b[B" * 3):
            terminal.type(keys)
            terminal.quiet(0.2)
        before = terminal.text
        terminal.screen.reset()
        terminal.type("\x0c")
        terminal.quiet()

        assert before == terminal.text


def test_exit_leaves_a_clean_terminal(folder: Path) -> None:
    """After quitting, the alternate screen and the mouse are given back and the exit code is 0."""
    with demo(folder) as terminal:
        terminal.until("timed 100/100")
        terminal.type("\x11")
        terminal.until(lambda: terminal.process.poll() is not None)
        terminal.quiet()

        assert terminal.process.returncode == 0
        assert b"\x1b[?1049l" in terminal.raw
        assert b"\x1b[?1003l" in terminal.raw


def test_over_ssh_the_app_is_quiet(folder: Path) -> None:
    """Over ssh a page of scrolling costs one screen of bytes at most, not an animation."""
    with demo(folder, SSH_CONNECTION="1 2 3 4", DEMO_LINES="400") as terminal:
        terminal.until("timed 100/100")
        terminal.quiet()
        terminal.type("\x1b[6~")
        cost = terminal.read(1.0)

        assert 0 < cost < 30_000
        assert os.environ.get("SSH_CONNECTION", "") == ""
