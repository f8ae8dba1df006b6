"""The expression language of ``problem.toml``: numbers, symbols, ``+ - * / // %``, ``a if b < c else d``, functions.

``min`` and ``max`` take two or more arguments, ``ceil``, ``sqrt`` and ``log2`` one; ``smallest(start, a, b, p)`` is the
least whole h >= start for which p divides a*h + b; ``divisor(n, first, last)`` is the first whole number from ``first``
to ``last`` (upwards or downwards) that divides n, and 1 if none does. A formula is parsed once, checked against an
allow-list of syntax nodes and walked to evaluate it; nothing is ever executed as Python. Values may be numbers or
tensors (elementwise), recognised by their methods alone.
"""

from __future__ import annotations

import ast
import difflib
import functools
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import FormulaError

_LONGEST = 400
_DEEPEST = 40
_CANDIDATES = 1024


@dataclass(frozen=True)
class Formula:
    """A parsed formula; ``symbols`` are the names that it needs values for."""

    text: str
    symbols: frozenset[str]
    tree: ast.expr

    def evaluate(self, values: Mapping[str, Any]) -> Any:
        """The formula's value, a number or (when a symbol is a tensor) a tensor.

        Raises FormulaError for an unknown symbol, a division by zero, or a ``smallest`` without a solution.
        """
        for name in sorted(self.symbols):
            if name not in values:
                raise FormulaError(f"formula {self.text!r}: no symbol {name!r}{_nearest(name, values)}")
        try:
            return _walk(self.tree, values)
        except ZeroDivisionError:
            raise FormulaError(f"formula {self.text!r}: division by zero") from None
        except FormulaError as error:
            raise FormulaError(f"formula {self.text!r}: {error}") from None
        except (ArithmeticError, TypeError, ValueError, RuntimeError) as error:
            raise FormulaError(f"formula {self.text!r}: cannot be computed: {error}") from None


@functools.lru_cache(maxsize=4096)
def parse(text: str) -> Formula:
    """Parse a formula. Raises FormulaError, with the formula in its message, for anything outside the language."""
    if len(text) > _LONGEST:
        raise FormulaError(f"formula {text[:60]!r}... is longer than {_LONGEST} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        symbols = frozenset(_check(tree, 0))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise FormulaError(f"formula {text!r} is not an expression of numbers, symbols and + - * / // %") from None
    except FormulaError as error:
        raise FormulaError(f"formula {text!r}: {error}") from None
    return Formula(text, symbols, tree)


def _check(node: ast.expr, depth: int) -> list[str]:
    if depth > _DEEPEST:
        raise FormulaError(f"nested deeper than {_DEEPEST} levels")
    children = _children(node)
    names = [node.id] if isinstance(node, ast.Name) else []
    return names + [name for child in children for name in _check(child, depth + 1)]


def _children(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Name) and node.id not in _FUNCTIONS:
        return []
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return []
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return [node.operand]
    if isinstance(node, ast.IfExp):
        return [node.test, node.body, node.orelse]
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        return [node.left, node.comparators[0]]
    if isinstance(node, ast.Call):
        return _arguments(node)
    raise FormulaError(
        f"{ast.unparse(node)!r} is not allowed; use numbers, symbols, + - * / // %, a if b < c else d and {_KNOWN}"
    )


def _arguments(node: ast.Call) -> list[ast.expr]:
    if not isinstance(node.func, ast.Name) or node.func.id not in _FUNCTIONS:
        name = ast.unparse(node.func)
        raise FormulaError(f"there is no function {name!r}{_nearest(name, _FUNCTIONS)}; known: {_KNOWN}")
    fewest, most, _ = _FUNCTIONS[node.func.id]
    if node.keywords or not fewest <= len(node.args) <= most:
        wanted = str(fewest) if fewest == most else f"at least {fewest}"
        raise FormulaError(f"{node.func.id} takes {wanted} plain argument{'s' if wanted != '1' else ''}")
    return list(node.args)


def _walk(node: ast.expr, values: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.UnaryOp):
        return -_walk(node.operand, values)
    if isinstance(node, ast.BinOp):
        return _OPERATORS[type(node.op)](_walk(node.left, values), _walk(node.right, values))
    if isinstance(node, ast.Compare):
        return _COMPARISONS[type(node.ops[0])](_walk(node.left, values), _walk(node.comparators[0], values))
    if isinstance(node, ast.IfExp):
        return _choose(_walk(node.test, values), node.body, node.orelse, values)
    assert isinstance(node, ast.Call)
    assert isinstance(node.func, ast.Name)
    return _FUNCTIONS[node.func.id][2](*(_walk(argument, values) for argument in node.args))


def _choose(test: Any, body: ast.expr, other: ast.expr, values: Mapping[str, Any]) -> Any:
    if not hasattr(test, "logical_not"):
        return _walk(body if test else other, values)
    chosen, rest = _walk(body, values), _walk(other, values)
    return chosen * test + rest * test.logical_not()


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def _extreme(number: Callable[[Any, Any], Any], method: str, bound: str) -> Callable[..., Any]:
    def pair(left: Any, right: Any) -> Any:
        if not hasattr(left, "clamp") and not hasattr(right, "clamp"):
            return number(left, right)
        tensor, other = (left, right) if hasattr(left, "clamp") else (right, left)
        return getattr(tensor, method)(other) if hasattr(other, "clamp") else tensor.clamp(**{bound: other})

    return lambda *arguments: functools.reduce(pair, arguments)


def _ceil(value: Any) -> Any:
    return value.ceil() if hasattr(value, "ceil") else math.ceil(value)


def _sqrt(value: Any) -> Any:
    return value.sqrt() if hasattr(value, "sqrt") else math.sqrt(value)


def _log2(value: Any) -> Any:
    return value.log2() if hasattr(value, "log2") else math.log2(value)


def _divisor(number: Any, first: Any, last: Any) -> int:
    step = 1 if first <= last else -1
    return next((d for d in range(int(first), int(last) + step, step) if d > 0 and number % d == 0), 1)


def _smallest(start: Any, factor: Any, offset: Any, divisor: Any) -> int:
    first = math.ceil(start)
    for candidate in range(first, first + _CANDIDATES):
        if (factor * candidate + offset) % divisor == 0:
            return candidate
    raise FormulaError(
        f"none of {_CANDIDATES} values from {first} on makes {factor}*h + {offset} divisible by {divisor}"
    )


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_FUNCTIONS: dict[str, tuple[int, int, Callable[..., Any]]] = {
    "min": (2, 16, _extreme(min, "minimum", "max")),
    "max": (2, 16, _extreme(max, "maximum", "min")),
    "ceil": (1, 1, _ceil),
    "sqrt": (1, 1, _sqrt),
    "log2": (1, 1, _log2),
    "divisor": (3, 3, _divisor),
    "smallest": (4, 4, _smallest),
}
_KNOWN = ", ".join(_FUNCTIONS)
