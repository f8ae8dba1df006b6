"""Characters that would steer the terminal or that the editor's document takes for line breaks, and mixed line ends.

In the document stand-ins take their place, so that a file is saved as it was read.
"""

from __future__ import annotations

import re

from widgets.plain import BIDI, SIGNS, STEERING

_NOT_PLAIN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_PLANE = 0xF0000
"""First of the code points that are free for private use and that no source holds."""
_HIDE = {ord(character): _PLANE + ord(character) for character in f"{STEERING}{BIDI}"}
_HIDE_RETURNS = {**_HIDE, ord("\r"): _PLANE + ord("\r")}
_SHOW = {stand_in: character for character, stand_in in _HIDE_RETURNS.items()}
_DRAW = {stand_in: SIGNS.get(character, "␍") for stand_in, character in _SHOW.items()}


def hidden(text: str) -> str:
    """The text with stand-ins; where kinds of line ends are mixed, only the newline still breaks lines."""
    if text.isascii() and _NOT_PLAIN.search(text) is None:
        return text
    return text.translate(_HIDE_RETURNS if _mixed(text) else _HIDE)


def shown(text: str) -> str:
    """The text as it is in the file."""
    return text if text.isascii() else text.translate(_SHOW)


def drawn(text: str) -> str:
    """A line of the document as it is drawn: each stand-in as a sign."""
    return text if text.isascii() else text.translate(_DRAW)


def newline(text: str) -> str:
    """What ends the lines of a text that is not mixed."""
    return "\r\n" if "\r\n" in text else "\r" if "\r" in text else "\n"


def _mixed(text: str) -> bool:
    both = text.count("\r\n")
    return (text.count("\r") > both and "\n" in text) or 0 < both < text.count("\n")
