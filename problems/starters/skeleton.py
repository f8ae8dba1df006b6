"""A starter with a kernel: the plain version, a kernel that compiles, and a ``solution`` that picks one of them."""

from __future__ import annotations

import ast
import io
import tokenize

from problems.formula import parse
from problems.imports import Import, merge
from problems.model import Input, Problem
from problems.modules import join, split
from problems.starters.header import header
from problems.starters.kernels import Kernel
from workbench.errors import ProblemError

_IMPORTS = (
    Import("__future__", "annotations"),
    Import("functools"),
    Import("typing", "Any"),
    Import("torch"),
    Import("torch.distributed", "", "dist"),
)
_LAST = (
    "solution() runs the plain version until USE_KERNEL is True. Then the kernel runs once, to show the way, and its "
    "last lines are yours to write."
)
_LINE = 120
_FLOATS = ("dtype", "bfloat16", "float16", "float32", "float64")
_ONES = "_ones = torch.ones(1024, device={device})"
"""What goes through the kernel where no argument suits it."""


def skeleton(problem: Problem, kernel: Kernel) -> str:
    """The text of a working file with this kernel. ProblemError when the reference defines no function ``solution``."""
    module = split(problem.reference_source())
    solution = _solution(module.rest, problem)
    parts = [
        "USE_KERNEL = False  # True: the kernel below is compiled and used",
        "# --- the plain version ---",
        _renamed(module.rest).rstrip(),
        "# --- the kernel ---",
        kernel.text.rstrip(),
        f"{_head(solution, module.rest)}{_body(solution, kernel, _carrier(problem, solution))}",
    ]
    imports = merge(module.imports, _IMPORTS, "the reference")
    return header(problem, _LAST) + "\n" + join(module.head, imports, (), "\n\n\n".join(parts))


def _solution(text: str, problem: Problem) -> ast.FunctionDef:
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef) and node.name == "solution":
            return node
    raise ProblemError(f"{problem.reference_path} defines no function 'solution', which a starter needs")


def _renamed(text: str) -> str:
    """The text with ``_plain`` in place of the name ``solution``."""
    lines = list(io.StringIO(text))
    for token in reversed(list(tokenize.generate_tokens(iter(lines).__next__))):
        if token.type == tokenize.NAME and token.string == "solution":
            row, column = token.start
            line = lines[row - 1]
            lines[row - 1] = f"{line[:column]}_plain{line[column + len('solution') :]}"
    return "".join(lines)


def _head(solution: ast.FunctionDef, text: str) -> str:
    """Decorators, signature and docstring as they are written; without a docstring, as Python would write them."""
    first = min([solution.lineno, *(item.lineno for item in solution.decorator_list)])
    if ast.get_docstring(solution) is not None and solution.body[0].lineno > solution.lineno:
        return "".join(list(io.StringIO(text))[first - 1 : solution.body[0].end_lineno])
    bare = ast.FunctionDef(**{**{key: getattr(solution, key) for key in solution._fields}, "body": [ast.Pass()]})
    return ast.unparse(ast.fix_missing_locations(bare)).removesuffix("pass").rstrip(" ")


def _body(solution: ast.FunctionDef, kernel: Kernel, carrier: str | None) -> str:
    through = f"{carrier} = {kernel.call.format(tensor=carrier)}" if carrier else kernel.call.format(tensor="_ones")
    passed = _passed(solution.args)
    lines = [
        "if not USE_KERNEL:",
        _return(passed, 8),
        *([] if carrier else [_ONES.format(device=kernel.device)]),
        through,
        "# TODO: the result, with a kernel of your own.",
        _return(passed, 4),
    ]
    return "".join(f"    {line}\n" for line in "\n".join(lines).splitlines())


def _return(passed: list[str], column: int) -> str:
    """The plain version's call at a column: on one line, with its arguments on one, or with one line for each."""
    inner = " " * (column - 4)
    line = f"return _plain({', '.join(passed)})"
    if column + len(line) <= _LINE:
        return inner + line
    together = column + 4 + len(", ".join(passed)) <= _LINE
    arguments = [", ".join(passed)] if together else [f"{item}," for item in passed]
    return "\n".join([f"{inner}return _plain(", *(f"{inner}    {item}" for item in arguments), f"{inner})"])


def _passed(arguments: ast.arguments) -> list[str]:
    """The arguments of a call that hands everything on."""
    passed = [item.arg for item in [*arguments.posonlyargs, *arguments.args]]
    passed += [f"*{arguments.vararg.arg}"] if arguments.vararg else []
    passed += [f"{item.arg}={item.arg}" for item in arguments.kwonlyargs]
    return passed + ([f"**{arguments.kwarg.arg}"] if arguments.kwarg else [])


def _carrier(problem: Problem, solution: ast.FunctionDef) -> str | None:
    """The first argument that may be replaced by an equal tensor and has the same shape on every rank."""
    known = {item.arg for item in ast.walk(solution.args) if isinstance(item, ast.arg)}
    return next((item.name for item in problem.inputs if item.name in known and _suits(item)), None)


def _suits(item: Input) -> bool:
    floating = item.kind == "tensor" and item.dtype in _FLOATS
    same_shape = item.elsewhere is None and not any("rank" in parse(formula).symbols for formula in item.shape)
    return floating and same_shape and item.mutates == "none" and not item.default
