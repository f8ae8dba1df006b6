"""Names of functions, variables and classes, as linkers have them and as a text declares them."""

from __future__ import annotations

import re
from itertools import islice

_COMMENT = re.compile(r"//[^\n]*|/\*(?:.*?\*/|.*)", re.DOTALL)
_MOST_PLACES = 1000
_AROUND = 1000
"""Characters."""


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
    return _line_of(name, text, ("", r"\s*\([^;{}]*;"), (r"\b(extern\b[^;{}]*|struct\s+|class\s+)$", ""))


def defined_at(name: str, text: str) -> int:
    """The line where a text defines a function; 0 = nowhere."""
    return _line_of(name, text, (r"[\w>][\s*&]+$", r"\s*\([^;{}]*\{"))


def _line_of(name: str, text: str, *patterns: tuple[str, str]) -> int:
    """The line where a name first stands between what a pattern says, the first pattern first.

    The text may be any: it is gone through once, and little is looked at around each place.
    """
    bare = _COMMENT.sub(lambda found: "\n".join(" " * len(line) for line in found[0].split("\n")), text)
    places = list(islice(re.finditer(rf"\b{re.escape(name)}\b", bare), _MOST_PLACES))
    for before, after in patterns:
        for place in places:
            left = bare[max(0, place.start() - _AROUND) : place.start()]
            if re.search(before, left) and re.match(after, bare[place.end() : place.end() + _AROUND]):
                return bare.count("\n", 0, place.start()) + 1
    return 0
