"""Reference text that stands alone: what it imports from ``problems.common`` is copied into it."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from problems.imports import Import, merge, read_import
from problems.modules import Module, Piece, join, split
from workbench.errors import ProblemError

COMMON = "problems.common"
FOLDER = Path(__file__).resolve().parent / "common"
_PLACE = "problems/common"
_REFERENCE = "the reference"


def inlined(text: str) -> str:
    """``text`` with the source of what it imports from ``problems.common`` in place of those imports.

    Functions, classes and constants of the shared modules come along as far as they are used, each once, after the
    imports; the imports of both are merged. Text without such an import comes back unchanged, and so does text that
    is no Python: the ranks report that with its line. Raises ProblemError for an unknown name, and for a name that
    would have two meanings.
    """
    if COMMON not in text:
        return text
    try:
        module = split(text)
    except SyntaxError:
        return text
    _refuse_late(module.rest)
    shared = [item for item in module.imports if _is_shared(item)]
    if not shared:
        return text
    found = _Found()
    for item in shared:
        found.add(item, _REFERENCE)
    imports = merge([item for item in module.imports if item not in shared], found.imports, _REFERENCE)
    pieces = found.pieces()
    _refuse_twins(imports, module.pieces, pieces)
    return join(module.head, imports, pieces, module.rest)


class _Found:
    """What is needed of the shared modules, with everything that it needs in turn."""

    def __init__(self) -> None:
        self.imports: list[Import] = []
        self._numbers: dict[str, set[int]] = {}
        """Per shared module, the numbers of its pieces; a module comes after those that it imports from."""

    def add(self, item: Import, asker: str) -> None:
        """Take what an import statement of ``asker`` names."""
        if not item.name or item.module == COMMON or item.alias:
            raise ProblemError(f"{asker}: write 'from {COMMON}.MODULE import NAME' for what is shared, without 'as'")
        name = item.module[len(COMMON) + 1 :]
        module = _load(name, asker)
        self._enter(name, module)
        if not self._take(name, module, item.name):
            known = ", ".join(sorted(one for piece in module.pieces for one in piece.names if not one.startswith("_")))
            raise ProblemError(f"{asker}: {_PLACE}/{name}.py has no {item.name!r}; it has: {known}")

    def pieces(self) -> list[Piece]:
        """The pieces, each after those of other modules that it uses, in a module in the order of its file."""
        return [_load(name, "").pieces[number] for name in self._numbers for number in sorted(self._numbers[name])]

    def _enter(self, name: str, module: Module) -> None:
        for item in module.imports:
            if _is_shared(item) and item.module != COMMON:
                inner = item.module[len(COMMON) + 1 :]
                self._enter(inner, _load(inner, f"{_PLACE}/{name}.py"))
        self._numbers.setdefault(name, set())

    def _take(self, name: str, module: Module, wanted: str) -> bool:
        """Take one name of a shared module and what it uses; whether the module has it."""
        asker = f"{_PLACE}/{name}.py"
        imported = [item for item in module.imports if item.bound == wanted]
        for item in imported:
            if _is_shared(item):
                self.add(item, asker)
            else:
                self.imports = merge(self.imports, [item], asker)
        defined = [number for number, piece in enumerate(module.pieces) if wanted in piece.names]
        for number in set(defined) - self._numbers[name]:
            self._numbers[name].add(number)
            for used in module.pieces[number].uses:
                self._take(name, module, used)
            self._take(name, module, "annotations")  # bound by the __future__ import, which no code names
        return bool(imported or defined)


def _is_shared(item: Import) -> bool:
    return item.module == COMMON or item.module.startswith(f"{COMMON}.")


def _load(name: str, asker: str) -> Module:
    try:
        return _read(FOLDER / f"{name}.py")
    except FileNotFoundError:
        known = ", ".join(sorted(path.stem for path in FOLDER.glob("[!_]*.py")))
        raise ProblemError(f"{asker}: there is no {_PLACE}/{name}.py; there are: {known}") from None


@functools.lru_cache(maxsize=64)
def _read(path: Path) -> Module:
    return split(path.read_text(encoding="utf-8"))


def _refuse_late(rest: str) -> None:
    for node in ast.walk(ast.parse(rest)):
        if isinstance(node, (ast.Import, ast.ImportFrom)) and any(map(_is_shared, read_import(node))):
            raise ProblemError(f"{_REFERENCE}: imports from {COMMON} must stand among the imports at the top")


def _refuse_twins(imports: Iterable[Import], own: Iterable[Piece], shared: Iterable[Piece]) -> None:
    bound = {item.bound for item in imports}
    defined = {name for piece in own for name in piece.names}
    counts = Counter([*bound, *defined, *(name for piece in shared for name in piece.names)])
    for name, count in counts.items():
        if count > 1:
            raise ProblemError(
                f"the name {name!r} is used twice: in {_REFERENCE} and {_PLACE}, or in two modules of {_PLACE}; "
                "rename one of them"
            )
