"""A source without the branches that a constant switches off, as ``if not USE_KERNEL`` of a starter does."""

from __future__ import annotations

import ast
from collections.abc import Mapping

_BLOCKS = ("body", "orelse", "finalbody")


def without_dead_branches(tree: ast.Module) -> ast.Module:
    """The tree without branches whose condition is a literal, or a module's name that is set once, to True or False.

    What follows a return or raise in the same block goes, too. The tree that is handed in is changed.
    """
    try:
        found: ast.Module = _Live(_switches(tree)).visit(tree)
    except RecursionError:
        return tree
    return found


def _switches(tree: ast.Module) -> dict[str, bool]:
    """Names of the module that are set once, to True or False, wherever else they are read."""
    stored = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    found = {}
    for node in tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=bool(value)))
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Constant(value=bool(value)))
            ):
                found[name] = value
    return {name: value for name, value in found.items() if stored.count(name) == 1}


def _truth(test: ast.expr, switches: Mapping[str, bool]) -> bool | None:
    match test:
        case ast.Constant(value=value):
            return bool(value)
        case ast.Name(id=name):
            return switches.get(name)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            inner = _truth(operand, switches)
            return None if inner is None else not inner
    return None


class _Live(ast.NodeTransformer):
    """Drops what is not run."""

    def __init__(self, switches: Mapping[str, bool]) -> None:
        self._switches = switches

    def visit_If(self, node: ast.If) -> ast.If | list[ast.stmt]:
        """The branch that is taken, where that is known."""
        self.generic_visit(node)
        truth = _truth(node.test, self._switches)
        return node if truth is None else node.body if truth else node.orelse

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """The node, with each of its blocks up to its first return or raise."""
        super().generic_visit(node)
        for name in _BLOCKS:
            block = getattr(node, name, None)
            if isinstance(block, list):
                last = next(
                    (at for at, one in enumerate(block) if isinstance(one, (ast.Return, ast.Raise))), len(block)
                )
                setattr(node, name, block[: last + 1])
        return node
