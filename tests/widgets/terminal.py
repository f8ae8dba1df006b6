"""A program in a pseudo-terminal: type keys, read the screen, count the bytes that it writes."""

from __future__ import annotations

import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

import pyte

_UNKNOWN_TO_PYTE = re.compile(rb"\x1b\[[<>=][0-9;]*u|\x1b\[\?[0-9]+\$p")
ROOT = Path(__file__).resolve().parents[2]


class Terminal:
    """Runs ``command`` on a pseudo-terminal of the given size and keeps what a terminal would show."""

    def __init__(self, command: Sequence[str], size: tuple[int, int] = (160, 48), **environment: str) -> None:
        columns, rows = size
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        """Everything received so far."""
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        keep = {
            key: value for key, value in os.environ.items() if not key.startswith(("SSH_", "TMUX", "COLUMNS", "LINES"))
        }
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=ROOT,
            env={**keep, "TERM": "xterm-256color", "COLORTERM": "truecolor", **environment},
            preexec_fn=_own_terminal,
        )
        os.close(slave)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.hang_up()

    @property
    def received(self) -> int:
        """Bytes received so far."""
        return len(self.raw)

    @property
    def text(self) -> str:
        """The screen as lines."""
        return "\n".join(self.screen.display)

    def type(self, keys: str) -> None:
        """Send keys as the terminal would."""
        os.write(self._master, keys.encode())

    def read(self, seconds: float) -> int:
        """Read for a while; the number of bytes that came."""
        before, end = self.received, time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self._master], [], [], left)[0] or not self._take():
                break
        return self.received - before

    def _take(self) -> bool:
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        self.raw += data
        self._stream.feed(_UNKNOWN_TO_PYTE.sub(b"", data))
        return bool(data)

    def until(self, condition: Callable[[], object] | str, seconds: float = 30.0) -> None:
        """Read until the screen shows a text, or a condition holds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.05)
            if (condition in self.text) if isinstance(condition, str) else condition():
                return
        raise AssertionError(f"not seen in time: {condition}\n{self.text}")

    def hang_up(self) -> None:
        """Close the terminal, as a dropped ssh connection does."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def resize(self, columns: int, rows: int) -> None:
        """Change the terminal's size."""
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)
        self.process.send_signal(signal.SIGWINCH)

    def quiet(self, seconds: float = 0.4) -> None:
        """Read until nothing comes for a while."""
        while self.read(seconds):
            pass


def _own_terminal() -> None:
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def demo(folder: Path, size: tuple[int, int] = (160, 48), **environment: str) -> Terminal:
    """The app with a scripted runner on a file in ``folder``."""
    command = [sys.executable, "-m", "tests.widgets.demo", str(folder)]
    return Terminal(command, size, PKWB_STATE_DIR=str(folder / "state"), **environment)
