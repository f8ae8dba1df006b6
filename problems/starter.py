"""The working file of a problem: where it lies, and the text that it starts with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from problems.model import Problem
from problems.schema import nearest
from workbench.errors import UsageError


def starter_text(problem: Problem, backend: str) -> str:
    """The first content of a working file: a correct, plain version that runs as it is.

    Raises UsageError for an unknown backend.
    """
    return _STARTERS[_known(backend)](problem)


def working_file(problem: Problem, backend: str, root: str | Path) -> Path:
    """``root/solutions_<backend>/<stem>_<backend>.py``. Raises UsageError for an unknown backend."""
    return Path(root) / f"solutions_{_known(backend)}" / f"{problem.stem}_{backend}.py"


def _known(backend: str) -> str:
    if backend not in _STARTERS:
        known = ", ".join(_STARTERS)
        raise UsageError(f"there is no backend {backend!r}{nearest(backend, _STARTERS)}; known: {known}")
    return backend


def _pytorch(problem: Problem) -> str:
    arguments = ", ".join(item.name for item in problem.inputs)
    compared = "bit for bit" if problem.compare == "exact" else "with the problem's tolerance"
    effects = [item.name for item in problem.inputs if item.mutates != "none"]
    writes = f"may write to {', '.join(effects)} only" if effects else "leaves its arguments as they are"
    header = [
        f"Problem {problem.number}: {problem.title}.",
        f"Every rank calls solution({arguments}) in an initialised process group.",
        f"Every rank's result is compared {compared}; the call {writes}.",
        "This version is correct and plain. Make it fast; each save runs it.",
    ]
    return "".join(f"# {line}\n" for line in header) + "\n" + problem.reference_path.read_text(encoding="utf-8")


_STARTERS: Mapping[str, Callable[[Problem], str]] = {"pytorch": _pytorch}
