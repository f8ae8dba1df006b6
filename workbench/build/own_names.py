"""Functions of a text's own that are called like torch's operators, by a look at the text.

torch's operators take part in every call with a tensor, whoever's the function is that is meant: with two of a name a
call may be ambiguous, or the other one's.
"""

from __future__ import annotations

import re
from collections import Counter

from workbench.build.slim.headers import provided_by

_UNREAD = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)'", re.DOTALL)
"""Comments and strings."""
_WITH_ARGUMENTS = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_IN_PARENTHESES = re.compile(r"\(\s*(\w+)\s*\)\s*\(")
_CALLED = re.compile(r"(?:\breturn\s+|[=(,+/<?:;{}|!^%\[.-]\s*|->\s*)([A-Za-z_]\w*)(?=\s*\()")
"""A name that is called: what stands before it cannot be the end of a type, with which a declaration begins."""
_PLAINLY = re.compile(r"(?<![\w.>:])([A-Za-z_]\w*)\s*\(")
"""A name in front of a parenthesis that is no member's and no namespace's."""
_ON_DEVICE = re.compile(r"(?:\b__host__[^;{}()]{0,99}?)?\b__(?:device|global)__\b[^;{}()]{0,300}?\b([A-Za-z_]\w*)\s*\(")
"""A function for GPUs alone, which never has a tensor for an argument; ``__host__`` before or after is looked at."""
_DEFINITION = re.compile(r"^\s*#\s*define\s+(\w+)(.*(?:\\\n.*)*)", re.MULTILINE)
_ARGUMENTS = r"\b(?:{})\s*\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)"
_WORD = re.compile(r"(?<![.>\w])[A-Za-z_]\w*")


def read(text: str) -> str:
    """A text without its comments and strings."""
    return _UNREAD.sub(" ", text)


def is_operator(name: str, includes: tuple[str, ...]) -> bool:
    """Whether this torch has an operator of that name."""
    return provided_by(f"ATen/ops/{name}.h", includes) is not None


def may_declare(text: str) -> set[str]:
    """Names that a text may have functions of its own by, macros of its own included."""
    return {*_declared(text), *_IN_PARENTHESES.findall(text), *_in_macros(text)}


def clash(text: str, includes: tuple[str, ...]) -> str:
    """A function of a text's own that is called like one of torch's operators, and called where it could be with a
    tensor; empty where there is none."""
    on_device = Counter(found[1] for found in _ON_DEVICE.finditer(text) if "__host__" not in found[0])
    own = {*(_declared(text) - on_device), *_IN_PARENTHESES.findall(text), *_in_macros(text)}
    times = Counter(_PLAINLY.findall(text))
    named = _in_macros(text)
    called = (name for name in sorted(own) if times[name] > (name not in named))
    return next((name for name in called if is_operator(name, includes)), "")


def _declared(text: str) -> Counter[str]:
    return Counter(_WITH_ARGUMENTS.findall(text)) - Counter(_CALLED.findall(text))


def _in_macros(text: str) -> set[str]:
    """Words that macros of the text's own could make a function's name of: in their bodies and in their arguments."""
    defined = _DEFINITION.findall(text)
    arguments = re.compile(_ARGUMENTS.format("|".join(name for name, _ in defined))).findall(text) if defined else []
    return {word for part in (*(body for _, body in defined), *arguments) for word in _WORD.findall(part)}
