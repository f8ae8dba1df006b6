"""Load a candidate: compile its text under the user's own path, execute it, find ``solution`` and try its signature."""

from __future__ import annotations

import inspect
import linecache
import sys
import types
from collections.abc import Callable
from typing import Any

from workbench.ranks.built import serve_load_inline

MODULE = "pkwb_candidate"


class NoSolution(Exception):
    """The file has no usable ``solution``."""


def load(text: str, path: str, arguments: list[str], module_name: str = MODULE) -> Callable[..., Any]:
    """Execute ``text`` as a module and return its ``solution``.

    The text is what was saved, not what the disk holds by now; tracebacks and ``inspect.getsource`` show it under
    ``path``. ``arguments`` are the names of the positional arguments that the problem passes.
    """
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    code = compile(text, path, "exec", dont_inherit=True)
    module = types.ModuleType(module_name)
    module.__file__ = path
    sys.modules[module_name] = module
    if "load_inline" in text:
        serve_load_inline()
    exec(code, module.__dict__)
    return check_signature(getattr(module, "solution", None), arguments)


def check_signature(solution: Any, arguments: list[str]) -> Callable[..., Any]:
    """``solution`` if it takes the problem's positional arguments; NoSolution with a message that says what is due."""
    due = f"solution({', '.join(arguments)})"
    if solution is None:
        raise NoSolution(f"the file defines no function `solution`; it needs {due}")
    if not callable(solution):
        raise NoSolution(f"`solution` is a {type(solution).__name__}, not a function; it needs to be {due}")
    try:
        inspect.signature(solution).bind(*arguments)
    except TypeError as error:
        raise NoSolution(f"solution{inspect.signature(solution)} cannot be called as {due}: {error}") from None
    except ValueError:
        pass
    found: Callable[..., Any] = solution
    return found
