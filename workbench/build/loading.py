"""Whether a Python source may have libraries loaded that give their names to those that are loaded later."""

from __future__ import annotations

import ast
import re
import sys

# SystemError: Python 3.11 raises it at times, of its own recursion depth, for sources that are right.
UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError, SystemError)
"""What looking at a Python source may raise: it is left to the ranks then."""
_LOADS = re.compile(r"RTLD_|setdlopenflags|load_library|__import__|\b(?:exec|eval)\(")
_MAY_LOAD = {"ctypes", "importlib", "runpy"}
_USUAL = {*sys.stdlib_module_names, "torch", "triton", "numpy", "utils"} - _MAY_LOAD
"""Modules whose import alone gives no names to others."""


def may_bring_names(source: str) -> bool:
    """Whether a Python source may load libraries whose names are there for those that it loads later."""
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except UNREADABLE:
        return True
    imports = [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    imports += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return _LOADS.search(source) is not None or any(name.partition(".")[0] not in _USUAL for name in imports)
