"""``pkwb open`` in a pseudo-terminal, with a working folder, settings and state of its own."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.e2e.processes import Process, descendants, holdings, left_of
from tests.saves import by_rename
from tests.widgets.terminal import Terminal

SETTINGS = """\
[run]
size = "smoke"
trials = 2
samples = 40

[limits]
stall = 0.5
"""
_COMMANDS = {
    "save": "\x13",
    "run": "\x1bOQ",
    "cancel": "\x1bOR",
    "editor": "\x1bOS",
    "help": "\x1bOP",
    "next error": "\x1b[19~",
    "go": "\x0f",
    "problems": "\x14",
    "quit": "\x11",
}
_MOVES = {
    "escape": "\x1b",
    "enter": "\r",
    "down": "\x1b[B",
    "line": "\x07",
}
KEYS = _COMMANDS | _MOVES
"""What a terminal sends for each key."""
_ATTEMPT = re.compile(r"#(\d+) +\d\d:\d\d:\d\d +\S (\S+)")


class Sitting(Terminal):
    """The program, its working file, and what is on its screen."""

    def __init__(
        self,
        folder: Path,
        *arguments: str,
        problem: str = "problem_1",
        size: tuple[int, int] = (160, 48),
        settings: str = SETTINGS,
        **environment: str,
    ) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        """Where the program puts its temporary files."""
        root = folder / "work"
        self.path = root / "solutions_pytorch" / "1_allreduce_pytorch.py"
        for place in (self.temporary, root, folder / "config"):
            place.mkdir(exist_ok=True)
        (folder / "config" / "config.toml").write_text(settings)
        self.editor = folder / "my_editor"
        """The program that stands for the user's own editor; a test writes it."""
        own = {f"PKWB_{kind.upper()}_DIR": str(folder / kind) for kind in ("state", "cache", "config")}
        command = [sys.executable, "-m", "workbench.cli", "open", *filter(None, [problem])]
        command += ["--root", str(root), *arguments]
        own |= {"TMPDIR": str(self.temporary), "VISUAL": str(self.editor)}
        super().__init__(command, size, **(own | environment))
        self.known: set[Process] = set()
        """Every process of this sitting that was ever looked at."""

    def __enter__(self) -> Sitting:
        return self

    # -- the screen

    def pane(self, title: str) -> str:
        """The text inside the frame that has ``title`` in its upper edge, with single blanks; empty without one."""
        return " ".join(self.lines(title)).strip()

    def lines(self, title: str) -> list[str]:
        """The lines inside that frame, without repeated blanks."""
        screen = self.screen.display
        for row, line in enumerate(screen):
            at = line.find(title)
            left, right = line.rfind("╭", 0, max(at, 0)), line.find("╮", at)
            if at >= 0 and left >= 0 and right >= 0:
                below = screen[row + 1 :]
                depth = next((n for n, text in enumerate(below) if text[left] == "╰"), len(below))
                return [" ".join(text[left + 1 : right].split()) for text in below[:depth]]
        return []

    def sees(self, title: str, *words: str) -> None:
        """Wait until that frame shows all of the words."""
        self.until(lambda: all(word in self.pane(title) for word in words))

    def told(self, words: str) -> None:
        """Wait until a message with these words is shown."""
        self.until(lambda: words in self._messages())

    def _messages(self) -> str:
        rows = (line.rpartition("▌ ")[2].rstrip("│ ") for line in self.screen.display if "▌ " in line)
        return " ".join(" ".join(rows).split())

    @property
    def attempts(self) -> dict[int, str]:
        """Status by number, of the attempts that the history shows."""
        return {int(number): status for number, status in _ATTEMPT.findall(self.pane("7 History"))}

    @property
    def latest(self) -> int:
        """Number of the newest attempt that the history shows."""
        return max(self.attempts)

    # -- the user

    def press(self, *keys: str) -> None:
        """Press keys by name; anything else is typed."""
        for key in keys:
            self.type(KEYS.get(key, key))

    def type_at_top(self, text: str) -> None:
        """Put a line of text before the editor's first one."""
        self.press("line")
        self.until("Back to the text")
        self.press("1", "enter")
        self.until(lambda: "Back to the text" not in self.text and " 1:1 ─╯" in self.text)
        self.press(text, "enter")
        self.sees(self.path.name, text)
        self.until("not saved")

    def go(self, digit: str, condition: Callable[[], object] | str = "") -> None:
        """Go to a pane by its digit, and wait until the screen shows a text or a condition holds."""
        self.press("go")
        self.until(lambda: self.pane("Go to"))
        self.press(digit)
        self.until(lambda: not self.pane("Go to"))
        self.until(condition)

    def home(self) -> None:
        """The history below, the focus in the editor, nothing running."""
        self.go("7", lambda: self.attempts and "ranks ready" in self.screen.display[0])
        self.go("4")

    def save(self, text: str, how: Callable[[Path, str], None] | None = None) -> None:
        """Save the working file from outside, by an atomic rename unless said otherwise."""
        (how or by_rename)(self.path, text)

    def judge(self, text: str, how: Callable[[Path, str], None] | None = None) -> str:
        """Save from outside and wait for the verdict; its status."""
        number = self.latest + 1
        self.save(text, how)
        return self.verdict(number)

    def choose(self, words: str, stem: str) -> Sitting:
        """Type words into the list of problems, open what they mean, and wait until its starter is judged."""
        self.sees("Problems", "1 allreduce")
        self.press(words)
        self.until(lambda: words in self.pane("Problems"))
        self.press("enter")
        self.until(lambda: stem in self.screen.display[0])
        return self.ready()

    def verdict(self, number: int) -> str:
        """Wait until an attempt is over; its status."""
        self.until(lambda: number in self.attempts)
        return self.attempts[number]

    def run_until(self, text: str, *words: str) -> int:
        """Save from outside a file that does not end by itself, and wait until its attempt shows the words."""
        number = self.latest + 1
        self.save(text)
        self.sees("5 Verdict", f"#{number} running", *words)
        return number

    def ready(self) -> Sitting:
        """Wait until the file as found at the start is judged and ranks stand by."""
        self.until(lambda: self.attempts.get(1) == "ok" and "ranks ready" in self.screen.display[0])
        return self

    # -- its processes

    def look(self) -> set[Process]:
        """The processes that it runs now; they are remembered."""
        found = descendants(self.process.pid)
        self.known |= found
        return found

    def held(self) -> dict[str, int]:
        """Processes, descriptors and shared memory that it and its ranks hold now."""
        now = holdings(self.process.pid)
        return {"processes": now.processes, "descriptors": now.descriptors, "shared memory": now.memfds}

    def left(self) -> set[Process]:
        """What still runs of the processes that were looked at, save those that the program runs now."""
        return left_of(self.known) - descendants(self.process.pid)

    def ended(self) -> int:
        """Wait until the program has ended; its exit code."""
        self.wait(lambda: self.process.poll() is not None)
        return self.process.returncode

    def gone(self) -> None:
        """Wait until nothing is left of all processes ever looked at, nor of their temporary files."""
        self.wait(lambda: not left_of(self.known) and not os.listdir(self.temporary))

    def wait(self, condition: Callable[[], object], seconds: float = 30.0) -> None:
        """Wait for something that is not on the screen, which may be gone already."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"did not happen in time; left: {left_of(self.known)}\n{self.text}")
            if self._master < 0 or not self.read(0.02):
                time.sleep(0.02)
