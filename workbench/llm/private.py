"""Texts for a model's provider, without what names the user's machine: its host, its home, folders of its files."""

from __future__ import annotations

import platform
import re
from pathlib import Path

_BEGIN = r"(?<![\w./~-])"
_PART = r"[^\s/'\"`:;,()\[\]<>]+"
_PACKAGES = re.compile(rf"{_BEGIN}(?:~|/{_PART})(?:/{_PART})*/(?:site|dist)-packages/")
_PATH = re.compile(rf"{_BEGIN}(?P<root>~|/{_PART})(?:/{_PART})*/(?P<name>{_PART})")
_SAME_EVERYWHERE = frozenset({"usr", "lib", "lib64", "proc", "sys", "dev", "etc"})
"""Folders of the root that tell nothing about the user."""


def private(text: str) -> str:
    """The text with files named by their last part, those of packages from the package on, and no name of the host."""
    home = str(Path.home())
    if home.count("/") > 1:  # its name may hold blanks, at which a path ends
        text = text.replace(f"{home}/", "~/")
    return unnamed(_PATH.sub(_shortened, _PACKAGES.sub("", text)))


def unnamed(text: str) -> str:
    """The text in which the host that ranks run on has no name."""
    host = platform.node()
    return re.sub(rf"(?<= (?:on|to) ){re.escape(host)}(?![\w.-])", "this host", text) if host else text


def _shortened(found: re.Match[str]) -> str:
    return found[0] if found["root"].strip("/") in _SAME_EVERYWHERE else found["name"]
