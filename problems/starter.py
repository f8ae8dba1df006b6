"""The working file of a problem: where it lies, and the text that it starts with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from problems.model import Problem
from problems.starters.header import header
from problems.starters.kernels import KERNELS, kind_of
from problems.starters.skeleton import skeleton
from workbench.errors import UsageError
from workbench.strict import nearest


def starter_text(problem: Problem, backend: str) -> str:
    """The first content of a working file: a correct version that runs as it is.

    Raises UsageError for an unknown backend, ProblemError for a reference from which no starter can be made.
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


def _plain(problem: Problem) -> str:
    last = "This version is correct and plain. Make it fast; each save runs it."
    return header(problem, last) + "\n" + problem.reference_source()


def _with_kernel(backend: str) -> Callable[[Problem], str]:
    return lambda problem: skeleton(problem, KERNELS[backend][kind_of(problem.collectives)])


_STARTERS: Mapping[str, Callable[[Problem], str]] = {
    "pytorch": _plain,
    **{backend: _with_kernel(backend) for backend in KERNELS},
}

BACKENDS = tuple(_STARTERS)
"""The backends that can be asked for."""
