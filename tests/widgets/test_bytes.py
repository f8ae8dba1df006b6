"""The bytes that the app writes: over ssh each of them counts. 160 columns, 48 rows, true colour."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.widgets.terminal import Terminal, demo

TYPED = 4096
IDLE_PER_SECOND = 1024


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """The app on a long file, at rest, with the machine's load shown once a second."""
    with demo(tmp_path, DEMO_TICK="1", DEMO_LINES="300") as terminal:
        terminal.until("timed 100/100")
        terminal.quiet(1.5)
        yield terminal


def cost(terminal: Terminal, keys: str) -> int:
    """Bytes that come within a second of a key."""
    terminal.type(keys)
    return terminal.read(1.0)


def test_typed_character(terminal: Terminal) -> None:
    """A typed character costs at most 4 KB, the first of them too."""
    costs = [cost(terminal, key) for key in "x = (1"]

    assert "x = (1" in terminal.text
    assert max(costs) <= TYPED


def test_cursor_movement(terminal: Terminal) -> None:
    """So does each step of the cursor within the page."""
    costs = [cost(terminal, "\x1b[B") for _ in range(5)]

    assert min(costs) > 0
    assert max(costs) <= TYPED


def test_idle_screen_with_telemetry(terminal: Terminal) -> None:
    """A screen at rest costs at most 1 KB a second, with the topology and its live load on screen."""
    terminal.type("\x0f")
    terminal.until("Go to")
    terminal.type("2")
    terminal.until("load")
    terminal.quiet(0.9)
    seconds = 4
    received = terminal.received
    for _ in range(seconds * 2):
        terminal.read(0.5)

    assert terminal.received - received <= IDLE_PER_SECOND * (seconds + 1)
