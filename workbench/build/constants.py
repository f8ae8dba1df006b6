"""Values of expressions that are known without running a file: constants, names that stand for one, their sums.

Text remembers where each part of it is written, so that a compiler's message can be taken back to the user's line.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MOST_STEPS = 100_000
"""Expressions that are looked at in one file: names that refer to names twice each could go on for ever."""
_LONGEST = 4_000_000
"""Characters of the longest text, and bits of the largest number times a thousand."""


class Unknown(Exception):
    """The value is only known when the file runs; the message says why."""


@dataclass(frozen=True)
class Text:
    """A text and its parts in order; a part's node is the constant in the source that it is the value of, if any."""

    parts: tuple[tuple[str, ast.Constant | None], ...]

    def __str__(self) -> str:
        return "".join(part for part, _ in self.parts)


class Scope:
    """The names that stand for one value in a function and the module around it."""

    def __init__(self, body: list[ast.stmt], outer: Scope | None = None) -> None:
        self._outer = outer
        self._file: Scope = outer._file if outer is not None else self
        self._steps = 0
        self._values: dict[str, ast.expr | None] = {}
        for node in _own_nodes(body):
            self._note(node)
        inside = [node for statement in body for node in ast.walk(statement)]
        self.hide([name for node in inside if isinstance(node, (ast.Global, ast.Nonlocal)) for name in node.names])
        self._changed = {name for node in inside if (name := _changed_by(node))}

    def hide(self, names: list[str]) -> None:
        """Names that are given from outside, such as a function's parameters."""
        self._values.update(dict.fromkeys(names))

    def step(self) -> None:
        """Count one more expression of the file; Unknown when there were too many."""
        self._file._steps += 1
        if self._file._steps > _MOST_STEPS:
            raise Unknown("it takes too long to find out ahead")

    def is_changed(self, name: str) -> bool:
        """Whether the file may change what the name stands for in place, as ``append`` does."""
        return name in self._file._changed

    def value(self, name: str) -> tuple[ast.expr, Scope]:
        """The one expression that a name stands for and the scope that it is written in."""
        if name not in self._values:
            if self._outer is None:
                raise Unknown(f"{name} is not set in this file")
            return self._outer.value(name)
        found = self._values[name]
        if found is None:
            raise Unknown(f"{name} is set more than once, or only when the file runs")
        return found, self

    def _note(self, node: ast.AST) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._set(node.targets[0].id, node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            self._set(node.target.id, node.value)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
            self._seen(node)
        else:
            self.hide(_names_bound_by(node))

    def _set(self, name: str, value: ast.expr) -> None:
        self._values[name] = value if name not in self._values else None

    def _seen(self, node: ast.Name) -> None:
        """A name that is stored to in any other way than by a plain assignment has no known value."""
        if not getattr(node, "plain", False):
            self._values[node.id] = None


def _names_bound_by(node: ast.AST) -> list[str]:
    """The names that imports, definitions, ``except`` and patterns give another meaning to."""
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(item.asname or item.name).partition(".")[0] for item in node.names]
    bound = node.rest if isinstance(node, ast.MatchMapping) else getattr(node, "name", None)
    return [bound] if isinstance(bound, str) and not isinstance(node, ast.alias) else []


def _changed_by(node: ast.AST) -> str:
    """The name of what a node may change: one of its methods is called, or an item is set."""
    item_set = isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load)
    if not (item_set or isinstance(node, ast.Attribute)):
        return ""
    held: ast.expr = node.value  # type: ignore[attr-defined]
    return held.id if isinstance(held, ast.Name) else ""


def _own_nodes(body: list[ast.stmt]) -> list[ast.AST]:
    """All nodes of a body but those of functions and classes in it, plain targets marked as such."""
    found: list[ast.AST] = []
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop(0)
        found.append(node)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            continue
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        target = node.target if isinstance(node, ast.AnnAssign) else target
        if isinstance(target, ast.Name):
            target.plain = True  # type: ignore[attr-defined]
        waiting += ast.iter_child_nodes(node)
    return found


def evaluate(node: ast.expr, scope: Scope, depth: int = 0) -> Any:
    """The value: Text for texts, otherwise as Python has it. Raises Unknown."""
    if depth > 50:
        raise Unknown("it refers to itself, or its parts lead too far")
    scope.step()
    known = _KINDS.get(type(node))
    if known is None:
        raise Unknown(f"{ast.unparse(node)[:60]} is only known when the file runs")
    value = known(node, scope, depth + 1)
    if _size(value) > _LONGEST:
        raise Unknown("it is too long to be made ahead")
    return value


def _size(value: Any) -> int:
    if isinstance(value, Text):
        return sum(len(part) for part, _ in value.parts)
    if isinstance(value, (list, dict)):
        return sum(map(_size, value.values() if isinstance(value, dict) else value))
    return 1000 * value.bit_length() if isinstance(value, int) else 0


def _constant(node: ast.Constant, scope: Scope, depth: int) -> Any:
    return Text(((node.value, node),)) if isinstance(node.value, str) else node.value


def _name(node: ast.Name, scope: Scope, depth: int) -> Any:
    value, where = scope.value(node.id)
    found = evaluate(value, where, depth)
    if isinstance(found, (list, dict)) and scope.is_changed(node.id):
        raise Unknown(f"{node.id} is changed while the file runs")
    return found


def _sum(node: ast.BinOp, scope: Scope, depth: int) -> Any:
    """The value of a chain of operations, from the left: a text may be added up from hundreds of lines."""
    chain = [node]
    while isinstance(first := chain[-1].left, ast.BinOp):
        chain.append(first)
    value = evaluate(first, scope, depth)
    for step in reversed(chain):
        value = _two(step, value, evaluate(step.right, scope, depth))
        if isinstance(value, int) and _size(value) > _LONGEST:
            raise Unknown("the number is too large")
    return value


def _two(node: ast.BinOp, left: Any, right: Any) -> Any:
    if isinstance(node.op, ast.Add) and isinstance(left, Text) and isinstance(right, Text):
        return Text(left.parts + right.parts)
    if isinstance(node.op, ast.Add) and isinstance(left, list) and isinstance(right, list):
        return left + right
    operation = _ARITHMETIC.get(type(node.op))
    if operation is None or not all(type(side) is int for side in (left, right)):
        raise Unknown(f"{ast.unparse(node)[:60]} is only known when the file runs")
    return operation(left, right)


def _f_string(node: ast.JoinedStr, scope: Scope, depth: int) -> Any:
    parts: list[tuple[str, ast.Constant | None]] = []
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append((str(value.value), None))
        else:
            parts.append((_formatted(value, scope, depth), None))
        if sum(len(part) for part, _ in parts) > _LONGEST:
            raise Unknown("it is too long to be made ahead")
    return Text(tuple(parts))


def _formatted(node: ast.expr, scope: Scope, depth: int) -> str:
    if not isinstance(node, ast.FormattedValue) or node.format_spec is not None or node.conversion not in (-1, 115):
        raise Unknown("a part of the f-string has a format")
    value = evaluate(node.value, scope, depth)
    if not isinstance(value, (Text, int, float, bool)):
        raise Unknown("a part of the f-string is neither text nor number")
    return str(value)


def _list(node: ast.List | ast.Tuple, scope: Scope, depth: int) -> Any:
    return [evaluate(item, scope, depth) for item in node.elts]


def _dict(node: ast.Dict, scope: Scope, depth: int) -> Any:
    keys = [evaluate(key, scope, depth) if key is not None else None for key in node.keys]
    if not all(isinstance(key, Text) for key in keys):
        raise Unknown("a key of the dict is no text")
    return {str(key): evaluate(value, scope, depth) for key, value in zip(keys, node.values)}


_KINDS: Mapping[type[ast.AST], Any] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.BinOp: _sum,
    ast.JoinedStr: _f_string,
    ast.List: _list,
    ast.Tuple: _list,
    ast.Dict: _dict,
}
_ARITHMETIC: Mapping[type[ast.AST], Any] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.FloorDiv: lambda left, right: left // right if right else 0,
}
