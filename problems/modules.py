"""A module's text in parts: head, imports, definitions; and the text again from its parts."""

from __future__ import annotations

import ast
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from problems.imports import Import, read_import, render

_Assignment = (ast.Assign, ast.AnnAssign)
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Piece:
    """A function, class or assignment at the top level of a module."""

    names: tuple[str, ...]
    uses: frozenset[str]
    """Every name in it, its own local ones too."""
    text: str
    """Its lines, with the comment right above and, after an assignment, the docstring right below."""
    block: bool
    """A function or a class, which stands between blank lines."""


@dataclass(frozen=True)
class Module:
    """A module's text in parts."""

    head: str
    """What stands before the first import: comments and the docstring."""
    imports: tuple[Import, ...]
    pieces: tuple[Piece, ...]
    rest: str
    """Everything after the imports."""


def split(text: str) -> Module:
    """A module's text in parts. Raises SyntaxError, and ProblemError for imports of unsupported forms.

    Only the imports at the top are taken apart; comments between them are not kept.
    """
    body = ast.parse(text).body
    lines = list(io.StringIO(text))
    described = body[:1] if body and _is_text(body[0]) else []
    imports = list(_leading_imports(body[len(described) :]))
    last = (imports or described)[-1].end_lineno or 0 if imports or described else 0
    return Module(
        head="".join(lines[: imports[0].lineno - 1 if imports else last]),
        imports=tuple(item for node in imports for item in read_import(node)),
        pieces=tuple(_pieces(body[len(described) + len(imports) :], lines)),
        rest="".join(lines[last:]).lstrip("\n"),
    )


def join(head: str, imports: Iterable[Import], pieces: Iterable[Piece], rest: str) -> str:
    """A module's text from its parts."""
    text = head + render(imports)
    before: Piece | None = None
    for piece in pieces:
        text += _gap(before is None, piece.block or (before is not None and before.block)) + piece.text
        before = piece
    blocks = bool(re.match(r"(?:#.*\n)*(?:(?:async def|def|class) |@)", rest)) or (before is not None and before.block)
    return text + _gap(True, blocks) + rest


def _gap(parted: bool, block: bool) -> str:
    return "\n\n" if block else "\n" if parted else ""


def _leading_imports(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in body:
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            return
        yield node


def _pieces(body: list[ast.stmt], lines: list[str]) -> Iterator[Piece]:
    for node, after in zip(body, [*body[1:], None]):
        last = after if isinstance(node, _Assignment) and after is not None and _is_text(after) else node
        decorators = node.decorator_list if isinstance(node, _Definition) else []
        first = _above(min([node.lineno, *(item.lineno for item in decorators)]) - 1, lines)
        text = "".join(lines[first : last.end_lineno])
        if names := _defined(node):
            yield Piece(names, _names(node), text, isinstance(node, _Definition))


def _defined(node: ast.stmt) -> tuple[str, ...]:
    if isinstance(node, _Definition):
        return (node.name,)
    if not isinstance(node, _Assignment):
        return ()
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return tuple(item.id for target in targets for item in ast.walk(target) if isinstance(item, ast.Name))


def _names(node: ast.stmt) -> frozenset[str]:
    return frozenset(item.id for item in ast.walk(node) if isinstance(item, ast.Name))


def _above(first: int, lines: list[str]) -> int:
    """The first of the comment lines right above a statement."""
    while first and lines[first - 1].startswith("#"):
        first -= 1
    return first


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
