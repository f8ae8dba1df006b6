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
STEERING = "".join(
    map(chr, [*(code for code in range(32) if chr(code) not in "\t\n\r"), 127, *range(128, 160), 0x2028, 0x2029])
)
"""Control characters, and what breaks lines although Python's tokenizer takes it for text."""
BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""What turns the order of text around, so that it reads as other code than it is."""
_STEERS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
SIGNS = {ord(one): chr(0x2400 + ord(one)) if ord(one) < 32 else "\u2421" if one == "\x7f" else "·" for one in STEERING}
SIGNS |= dict.fromkeys(map(ord, BIDI), "·")
"""What is shown in their place, by code point."""
_DROPPED = dict.fromkeys(map(ord, f"{STEERING}{BIDI}\r\n"))
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


def visible(text: str) -> str:
    """A whole text, such as a source, with a sign in the place of each character that would steer the terminal."""
    return text if text.isascii() and _STEERS.search(text) is None else text.translate(SIGNS)


def harmless(text: str) -> str:
    """The text without characters that would steer the terminal, which take no cell."""
    return text.translate(_DROPPED)


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
