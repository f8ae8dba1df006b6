"""One source of many, each in a namespace of its own: what takes minutes with torch's headers then takes them once."""

from __future__ import annotations

import re
from collections.abc import Mapping

_INCLUDE = re.compile(r"^#include .*\n", re.MULTILINE)


def joined(sources: Mapping[str, str]) -> str:
    """The text of all sources by name; each keeps its module, which is called after it."""
    includes = dict.fromkeys(line for text in sources.values() for line in _INCLUDE.findall(text))
    return "".join(includes) + "".join(_wrapped(name, text) for name, text in sources.items())


def _wrapped(name: str, text: str) -> str:
    body = _INCLUDE.sub("", text)
    macros = sorted(set(re.findall(r"^#define (\w+)", body, re.MULTILINE)))
    undone = "".join(f"#undef {macro}\n" for macro in ("TORCH_EXTENSION_NAME", *macros))
    return f"#define TORCH_EXTENSION_NAME {name}\nnamespace {name} {{\n{body}\n}}\n{undone}"
