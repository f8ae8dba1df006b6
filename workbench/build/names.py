"""Names of functions, variables and classes, as linkers have them and as a text declares them."""

from __future__ import annotations

import re

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def plain_name(mangled: str) -> str:
    """The own name of a function, variable or class, without namespaces, template arguments and types."""
    rest = re.match(r"_Z(?:T[VTIS])?(?P<nested>N[rVK]*[RO]?)?(?P<names>\d.*)", mangled)
    name, text = mangled, rest["names"] if rest else ""
    while size := re.match(r"\d+", text):
        start, length = size.end(), int(size[0])
        name, text = text[start : start + length], text[start + length :]
        if rest and not rest["nested"]:  # what follows is the type of a parameter
            break
    return name


def written_name(shown: str) -> str:
    """The own name in a function as it is written, with namespaces, return type and parameters; itself otherwise."""
    found = re.match(r"(?:[^(<]*[\s:*&])?(\w+)", shown)
    return found[1] if found else shown


def declared_at(name: str, text: str) -> int:
    """The line where a text declares a function, variable or class, or first calls it; 0 = nowhere."""
    word = rf"\b{re.escape(name)}\b"
    return _line_of(
        word, text, rf"{word}\s*\([^;{{}}]*;", rf"\bextern\b[^;{{}}]*{word}", rf"\b(?:struct|class)\s+{word}"
    )


def defined_at(name: str, text: str) -> int:
    """The line where a text defines a function; 0 = nowhere."""
    word = rf"\b{re.escape(name)}\b"
    return _line_of(word, text, rf"[\w>][\s*&]+{word}\s*\([^;{{}}]*\{{")


def _line_of(word: str, text: str, *patterns: str) -> int:
    """The line of a word in the first place where one of the patterns, the first one first, is in a text."""
    bare = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    found = next((place for pattern in patterns if (place := re.search(pattern, bare))), None)
    at = re.compile(word).search(bare, found.start()) if found else None
    return bare.count("\n", 0, at.start()) + 1 if at else 0
