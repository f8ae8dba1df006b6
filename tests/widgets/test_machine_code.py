"""The machine code of kernels, on its own screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Static

from tests.widgets.stage import stage
from widgets.screens.code import MOST_LINES, CodeScreen


@pytest.mark.parametrize("size", [(160, 48), (60, 15)])
async def test_ptx_where_nothing_shows_machine_code(size: tuple[int, int], tmp_path: Path) -> None:
    """The action shows the kernels' PTX where there is no disassembler, says so, and escape closes it."""
    async with stage(tmp_path, size=size) as place:
        place.runners[-1].end()
        await place.app.run_action("machine_code")
        await place.until(lambda: isinstance(place.app.screen, CodeScreen))
        await place.pilot.pause()
        assert str(place.app.screen.query_one("#code-text", Static).content).startswith(".entry k")
        title = str(place.app.screen.query_one(".dialog").border_title)
        assert title.startswith("PTX (no disassembler)")
        await place.pilot.press("j", "escape")
        await place.until(lambda: not isinstance(place.app.screen, CodeScreen))


async def test_not_while_a_run_is_active(tmp_path: Path) -> None:
    """While something runs no compiler is started beside it: the user is told to wait."""
    async with stage(tmp_path) as place:
        assert place.runners[-1].busy
        await place.app.run_action("machine_code")
        await place.until(lambda: "a run is active" in place.messages())


def test_long_code_is_cut() -> None:
    """Very long code shows its first lines and how many more there are; nothing in it reaches the terminal raw."""
    screen = CodeScreen("x", "\x1b[31mred\tcode\n" * (MOST_LINES + 7))
    assert screen._lines[0] == "red code"
    assert screen._lines[-1] == "... 7 more lines"
