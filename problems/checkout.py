"""Problems of a ParallelKernelBench checkout, as problems of pkwb.

A checkout holds ``reference/<stem>.py`` with ``solution`` and ``utils/input_output_tensors.py`` with
``create_input_tensor``, which makes the arguments on the ranks. Results are compared as the benchmark does it, with
atol = rtol = 1e-2. What pkwb knows of the same task (words, shapes, figures) is shown beside it; a task that it does
not know has the names of its arguments alone.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from problems.model import Draw, Entry, Figures, Input, Output, Problem, Tolerance
from problems.tolerance import ITEMSIZES
from workbench.errors import ProblemError

GENERATOR = "utils/input_output_tensors.py"
_FUNCTION = "create_input_tensor"
_REFERENCES = "reference"
_NAME = re.compile(r"(\d+)_\w+")
_LIMIT = 1e-2
_SIZES = {"smoke": 256, "default": 1024, "large": 4096}
"""M and N of tasks that pkwb does not know; ``default`` is the benchmark's."""
_LAYOUT = f"{_REFERENCES}/<number>_<name>.py and {GENERATOR}"


def checkout_entries(folder: Path, known: Mapping[str, Entry]) -> list[Entry]:
    """The problems of a checkout by number; ``known`` are the built-in ones by stem.

    Raises ProblemError that names the file that is missing.
    """
    _require_layout(folder)
    files = sorted((folder / _REFERENCES).glob("*.py"))
    numbered = [(int(match[1]), file) for file in files if (match := _NAME.fullmatch(file.stem))]
    if not numbered:
        raise ProblemError(f"{folder / _REFERENCES} holds no <number>_<name>.py; a checkout has {_LAYOUT}")
    return [_entry(number, file, known.get(file.stem)) for number, file in sorted(numbered)]


def checkout_problem(folder: Path, entry: Entry, known: Callable[[str], Problem | None]) -> Problem:
    """One problem of a checkout; ``known`` gives the built-in one of a stem. ProblemError when it is not whole."""
    _require_layout(folder)
    path = folder / _REFERENCES / f"{entry.stem}.py"
    names = _parameters(path)
    built_in = known(entry.stem)
    base = _as_checked_there(built_in) if built_in and _names(built_in) == list(names) else _unknown(entry, names)
    return dataclasses.replace(base, folder=folder, reference_file=f"{_REFERENCES}/{path.name}", generator=GENERATOR)


def _require_layout(folder: Path) -> None:
    if not folder.is_dir():
        raise ProblemError(f"problems.pkb: {folder} is not a folder; give the top of a ParallelKernelBench checkout")
    if not (folder / _REFERENCES).is_dir():
        raise ProblemError(f"{folder} has no folder {_REFERENCES}/; a checkout has {_LAYOUT}")
    path = folder / GENERATOR
    if not path.is_file():
        raise ProblemError(f"{path} is missing; a checkout has {_LAYOUT}")
    if not any(node.name == _FUNCTION for node in _functions(path)):
        raise ProblemError(f"{path} defines no function {_FUNCTION}(rank, world_size, problem_id, shape, dtype, ...)")


def _entry(number: int, file: Path, known: Entry | None) -> Entry:
    if known is not None:
        return dataclasses.replace(known, number=number, folder=file.parent.parent, checkout=True)
    title = file.stem.partition("_")[2].replace("_", " ")
    return Entry(number, file.stem, title, "checkout", (), file.parent.parent, checkout=True)


def _names(problem: Problem) -> list[str]:
    return [item.name for item in problem.inputs]


@functools.lru_cache(maxsize=256)
def _functions(path: Path) -> tuple[ast.FunctionDef, ...]:
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise ProblemError(f"{path}: cannot be read: {error}") from None
    except SyntaxError as error:
        raise ProblemError(f"{path}: line {error.lineno}: not valid Python: {error.msg}") from None
    return tuple(node for node in tree.body if isinstance(node, ast.FunctionDef))


def _parameters(path: Path) -> Mapping[str, bool]:
    """The names of the reference's arguments, and whether each has a default."""
    if not path.is_file():
        raise ProblemError(f"{path} is missing; every problem of a checkout has its reference there")
    found = next((node.args for node in _functions(path) if node.name == "solution"), None)
    if found is None:
        raise ProblemError(f"{path} defines no function solution(...)")
    places = [*found.posonlyargs, *found.args]
    required = len(places) - len(found.defaults)
    return {argument.arg: place >= required for place, argument in enumerate(places)}


def _as_checked_there(problem: Problem) -> Problem:
    """A built-in problem under the benchmark's own rules: its comparison, and arguments that may be written to."""
    other = problem.sizes["default"]
    sizes = {name: {**other, **_base(size)} for name, size in problem.sizes.items()}
    outputs = [dataclasses.replace(output, compare=None, tolerance=None, share=0.0) for output in problem.outputs]
    return dataclasses.replace(
        problem,
        sizes=sizes,
        inputs=tuple(dataclasses.replace(item, mutates="may") for item in problem.inputs),
        outputs=tuple(outputs),
        compare="allclose",
        tolerance=_tolerance(),
        returns_input=True,
    )


def _base(size: Mapping[str, int]) -> dict[str, int]:
    return {name: size[name] for name in ("M", "N") if name in size}


def _tolerance() -> Tolerance:
    limits = dict.fromkeys(ITEMSIZES, _LIMIT)
    return Tolerance(rms=limits, rel=limits)


def _unknown(entry: Entry, names: Mapping[str, bool]) -> Problem:
    """A task by the names of its arguments alone; those without a default are passed at least."""
    code = Draw(kind="code")
    return Problem(
        number=entry.number,
        stem=entry.stem,
        title=entry.title,
        group=entry.group,
        parallelism=(),
        origin="",
        statement="A task of the checkout that pkwb has no description of; its reference says what is asked for.",
        algorithm="",
        notes="",
        folder=entry.folder,
        inputs=tuple(Input(name=name, kind="any", draw=code, mutates="may", default=d) for name, d in names.items()),
        outputs=(Output(name="result", kind="any", shape=()),),
        symbols={},
        sizes={name: {"M": side, "N": side} for name, side in _SIZES.items()},
        dtypes=("bfloat16", "float32", "float16"),
        compare="allclose",
        tolerance=_tolerance(),
        figures=Figures(needed_bytes="0", reference_bytes="0", flops="0", hbm_bytes="0", known=False),
        returns_input=True,
    )
