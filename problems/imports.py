"""The imports at the top of a module's text: reading them, merging them without duplicates, writing them in order."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from dataclasses import dataclass

from workbench.errors import ProblemError

_LINE = 120


@dataclass(frozen=True)
class Import:
    """One imported name: ``import module [as alias]``, or ``from module import name [as alias]`` where name is set."""

    module: str
    name: str = ""
    alias: str = ""

    @property
    def bound(self) -> str:
        """The name that the module has it under afterwards."""
        return self.alias or self.name or self.module.partition(".")[0]

    @property
    def meaning(self) -> tuple[str, str]:
        """What the bound name stands for; ``import a`` and ``import a.b`` both bind a."""
        return (self.module if self.name or self.alias else self.bound, self.name)


def read_import(node: ast.Import | ast.ImportFrom) -> list[Import]:
    """The names that one statement imports. Relative imports and stars raise ProblemError."""
    if isinstance(node, ast.Import):
        return [Import(item.name, "", item.asname or "") for item in node.names]
    if node.level or node.module is None:
        raise ProblemError(f"line {node.lineno}: relative imports cannot be used here; name the whole module")
    if any(item.name == "*" for item in node.names):
        raise ProblemError(f"line {node.lineno}: 'import *' cannot be used here; name what is imported")
    return [Import(node.module, item.name, item.asname or "") for item in node.names]


def merge(own: Iterable[Import], more: Iterable[Import], place: str) -> list[Import]:
    """All imports, each once. ProblemError, which names ``place``, when one name would stand for two things."""
    merged = list(dict.fromkeys(own))
    meanings = {item.bound: item.meaning for item in merged}
    for item in more:
        if meanings.setdefault(item.bound, item.meaning) != item.meaning:
            raise ProblemError(f"{place}: the name {item.bound!r} is imported with two meanings; rename one of them")
        if item not in merged:
            merged.append(item)
    return merged


def render(imports: Iterable[Import]) -> str:
    """Import statements in sections (future, standard library, others), sorted, with a blank line between sections."""
    sections: dict[int, list[Import]] = {}
    for item in imports:
        sections.setdefault(_section(item.module), []).append(item)
    return "\n".join("".join(_statements(sections[key])) for key in sorted(sections))


def _section(module: str) -> int:
    top = module.partition(".")[0]
    return 0 if top == "__future__" else 1 if top in sys.stdlib_module_names else 2


def _statements(imports: list[Import]) -> list[str]:
    plain = sorted({item for item in imports if not item.name}, key=lambda item: (item.module.lower(), item.alias))
    modules = sorted({item.module for item in imports if item.name}, key=str.lower)
    lines = [f"import {item.module}{_suffix(item)}\n" for item in plain]
    return lines + [
        _from(module, [item for item in imports if item.name and item.module == module]) for module in modules
    ]


def _from(module: str, imports: list[Import]) -> str:
    names = [f"{item.name}{_suffix(item)}" for item in sorted(imports, key=_order)]
    line = f"from {module} import {', '.join(names)}\n"
    if len(line) <= _LINE + 1:
        return line
    return f"from {module} import (\n" + "".join(f"    {name},\n" for name in names) + ")\n"


def _suffix(item: Import) -> str:
    return f" as {item.alias}" if item.alias else ""


def _order(item: Import) -> tuple[int, str]:
    """Constants, then classes, then functions."""
    kind = 0 if item.name.isupper() and len(item.name) > 1 else 1 if item.name[:1].isupper() else 2
    return kind, item.name
