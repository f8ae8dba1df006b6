"""The working file of a problem: where it lies, and the text that it starts with."""

from __future__ import annotations

from pathlib import Path

from problems.model import Problem
from workbench.errors import UsageError
from workbench.strict import nearest

BACKENDS = ("pytorch", "cuda", "triton", "parallelkittens", "cpp")
"""The backends that can be asked for; all but the first have a kernel to begin with."""


def starter_text(problem: Problem, backend: str) -> str:
    """The first content of a working file: a correct version that runs as it is.

    Raises UsageError for an unknown backend, ProblemError for a reference from which no starter can be made.
    """
    if _known(backend) == "pytorch":
        return _plain(problem)
    # Loaded where a file is made only, so that one that is there opens without them.
    from problems.starters.kernels import KERNELS, kind_of
    from problems.starters.skeleton import skeleton

    return skeleton(problem, KERNELS[backend][kind_of(problem.collectives)])


def working_file(problem: Problem, backend: str, root: str | Path) -> Path:
    """``root/solutions_<backend>/<stem>_<backend>.py``. Raises UsageError for an unknown backend."""
    return Path(root) / f"solutions_{_known(backend)}" / f"{problem.stem}_{backend}.py"


def _known(backend: str) -> str:
    if backend not in BACKENDS:
        known = ", ".join(BACKENDS)
        raise UsageError(f"there is no backend {backend!r}{nearest(backend, BACKENDS)}; known: {known}")
    return backend


def _plain(problem: Problem) -> str:
    from problems.starters.header import header

    last = "This version is correct and plain. Make it fast; each save runs it."
    return header(problem, last) + "\n" + problem.reference_source()
