"""Text from ranks and tools made safe to print: no escape sequences, no invisible characters, bounded width."""

from __future__ import annotations

import re
import unicodedata

from rich.cells import cell_len, set_cell_size

LINE_CELLS = 2000
"""Cells of one line that are kept; a longer line ends with an ellipsis."""

_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]?"
)
_HIDDEN = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def plain(text: str) -> str:
    """One line that is safe to print: escape sequences dropped, tabs expanded, control characters shown as a dot.

    Line breaks become spaces. What is longer than ``LINE_CELLS`` is cut before anything else looks at it.
    """
    cut = text[: 4 * LINE_CELLS]
    if cut.isascii() and cut.isprintable():
        return _capped(cut, len(text) > len(cut))
    cut = _ESCAPES.sub("", cut).replace("\r\n", " ").replace("\n", " ").expandtabs(4)
    return _capped("".join(map(_visible, cut)), len(text) > 4 * LINE_CELLS)


def plain_lines(text: str) -> list[str]:
    """The lines of a text, each safe to print; a carriage return starts the line anew, as a terminal would show it."""
    return [plain(line.rstrip("\r").rsplit("\r", 1)[-1]) for line in text.split("\n")]


def reason_lines(reason: str) -> list[str]:
    """A reason's lines, safe to print; of a Python traceback the last one, which is the error itself, comes first."""
    lines = [line for line in plain_lines(reason) if line.strip()] or [""]
    return [lines[-1], *lines[:-1]] if lines[0].startswith("Traceback ") else lines


def _visible(character: str) -> str:
    if character.isprintable():
        return character
    return "" if character == "\r" else "·" if unicodedata.category(character) in _HIDDEN else " "


def _capped(text: str, cut: bool) -> str:
    if not cut and (len(text) <= LINE_CELLS // 2 or cell_len(text) <= LINE_CELLS):
        return text
    return set_cell_size(text, LINE_CELLS - 1).rstrip() + "…"
