"""Starters of every backend: they load, keep the reference's signature, and are right as they are."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from problems.loader import catalogue, find_problem, load_problem
from problems.model import Problem
from problems.starter import BACKENDS, starter_text, working_file
from problems.starters.kernels import KERNELS, kind_of
from tests.flow.sitting import Sitting
from tests.program import environment, pkwb
from workbench.config import RanksSettings, RunSettings, Settings
from workbench.errors import ProblemError, UsageError
from workbench.resolve import ensure_working_file, resolve_target

PROBLEMS = [load_problem(entry.folder) for entry in catalogue()]
SKELETONS = tuple(KERNELS)
# Each file's first line holds the names of the problem's arguments.
LOAD_ALL = """\
import pathlib, sys
from workbench.ranks.loading import load
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("triton", "utils"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
for path in sys.argv[1:]:
    arguments, text = pathlib.Path(path).read_text().split("\\n", 1)
    solution = load(text, path, arguments.split())
    assert not solution.__globals__.get("USE_KERNEL"), path
print(len(sys.argv) - 1)
"""

each_problem = pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.stem)
each_skeleton = pytest.mark.parametrize("backend", SKELETONS)


def function(text: str, name: str = "solution") -> ast.FunctionDef:
    """A function of a module's text."""
    (found,) = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.name == name]
    return found


def changed(problem: Problem, folder: Path, reference: str) -> Problem:
    """The problem with another reference."""
    folder.joinpath("reference.py").write_text(reference)
    return dataclasses.replace(problem, folder=folder)


@each_problem
@pytest.mark.parametrize("backend", BACKENDS)
def test_signature_and_docstring_are_the_references(problem: Problem, backend: str) -> None:
    """A starter's solution takes what the reference takes, defaults and docstring included."""
    wanted, found = function(problem.reference_source()), function(starter_text(problem, backend))
    assert ast.dump(found.args) == ast.dump(wanted.args)
    assert ast.dump(found.returns or ast.Pass()) == ast.dump(wanted.returns or ast.Pass())
    assert ast.get_docstring(found) == ast.get_docstring(wanted)


@each_problem
@each_skeleton
def test_names_are_defined_once(problem: Problem, backend: str) -> None:
    """Nothing that the kernel part of a skeleton defines takes the place of something in the reference."""
    body = ast.parse(starter_text(problem, backend)).body
    defined = [node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    imported = [
        item.asname or item.name
        for node in body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for item in node.names
    ]
    assert {name for name, count in Counter(defined + imported).items() if count > 1} == set()


def test_all_load_without_triton_and_compiler(tmp_path: Path) -> None:
    """Every starter of every problem loads, and takes the problem's arguments, without Triton and a CUDA compiler."""
    paths = []
    for problem in PROBLEMS:
        for backend in BACKENDS:
            paths.append(tmp_path / working_file(problem, backend, tmp_path).name)
            paths[-1].write_text(f"{' '.join(problem.arguments)}\n{starter_text(problem, backend)}")
    command = [sys.executable, "-c", LOAD_ALL, *map(str, paths)]
    done = subprocess.run(command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == (str(len(PROBLEMS) * len(BACKENDS)), "")


@pytest.mark.parametrize("number", ["1", "8", "13", "42", "54", "73"])
def test_judged_as_they_are(number: str) -> None:
    """A starter of any backend is judged ok on CPU ranks before anything in it is edited."""
    sitting = Sitting(number, limit=10.0)
    try:
        for backend in BACKENDS:
            verdict = sitting.judge(starter_text(find_problem(number), backend))
            assert (backend, verdict.status, verdict.reason) == (backend, "ok", verdict.reason)
    finally:
        sitting.close()


@pytest.mark.skipif(shutil.which("g++") is None, reason="this machine has no C++ compiler (g++)")
@pytest.mark.parametrize(
    ("collectives", "dtype"), [(("all_reduce",), "bfloat16"), (("broadcast",), "float32"), ((), "float16")]
)
def test_cpp_kernels_run(collectives: tuple[str, ...], dtype: str) -> None:
    """The C++ kernels of the starters compile, move data between CPU ranks, and the starter is right with them on."""
    problem = dataclasses.replace(find_problem("1"), collectives=collectives)
    sitting = Sitting("1", dtype=dtype, limit=100.0)
    sitting.patience = 110.0
    try:
        verdict = sitting.judge(starter_text(problem, "cpp").replace("USE_KERNEL = False", "USE_KERNEL = True"))
        assert verdict.status == "ok", verdict.reason
    finally:
        sitting.close()


def comments(text: str) -> str:
    """The comment at the top as one line."""
    lines = itertools.takewhile(lambda line: line.startswith("# "), text.splitlines())
    return " ".join(line[2:] for line in lines)


@each_problem
@pytest.mark.parametrize("backend", BACKENDS)
def test_header_names_the_call(problem: Problem, backend: str) -> None:
    """The comment at the top names the problem, the call and every output, in lines that fit."""
    text = starter_text(problem, backend)
    assert comments(text).startswith(f"Problem {problem.number}: {problem.title}. Every rank calls solution(")
    assert f"solution({', '.join(problem.arguments)})" in comments(text)
    assert all(output.name in comments(text) for output in problem.outputs)
    added = set(text.splitlines()) - set(problem.reference_source().splitlines())
    assert max(map(len, added)) <= 120


@each_skeleton
def test_header_states_the_contract(backend: str) -> None:
    """The comment at the top says what is called, what may be written to, and how each output is compared."""
    problem = find_problem("73")
    problem = dataclasses.replace(
        problem,
        inputs=(dataclasses.replace(problem.inputs[0], mutates="must"), *problem.inputs[1:]),
        outputs=(problem.outputs[0], dataclasses.replace(problem.outputs[0], name="labels", dtype="int64")),
    )
    text = comments(starter_text(problem, backend))
    first, output = problem.inputs[0].name, problem.outputs[0].name
    assert f"solution({', '.join(problem.arguments)})" in text
    assert f"writes its results to {first}, which are compared too, leaves all others as they are." in text
    assert f"Compared on every rank: {output} (within the tolerance); labels (every bit the same)." in text
    assert "USE_KERNEL" in text


@pytest.mark.parametrize(
    ("collectives", "kind"),
    [(("reduce_scatter", "all_gather"), "sum"), (("send_recv",), "copy"), (("all_to_all",), "copy"), ((), "tile")],
)
def test_kernel_is_near_to_the_problem(collectives: tuple[str, ...], kind: str) -> None:
    """Problems that add up get a sum over ranks, those that move data a copy, those without communication a tile."""
    assert kind_of(collectives) == kind
    problem = dataclasses.replace(find_problem("1"), collectives=collectives)
    for backend in SKELETONS:
        assert KERNELS[backend][kind_of(collectives)].text in starter_text(problem, backend)


def test_one_argument_goes_through_the_kernel() -> None:
    """The kernel is shown on an argument that may be replaced; where there is none, on a tensor of ones."""
    assert "tensor = _sum_of_ranks(tensor, " in starter_text(find_problem("1"), "cuda")
    assert "_sum_of_ranks(_ones, " in starter_text(find_problem("73"), "cuda")


REFERENCES = {
    "no docstring": "def solution(x, /, *more, flag=True, **others):\n    return x\n",
    "one line": "def solution(x, /, *more, flag=True, **others): return x\n",
    "calls itself": "def solution(x, /, *more, flag=True, **others):\n    # a solution\n    return solution(x)\n",
}


@pytest.mark.parametrize("name", REFERENCES)
@each_skeleton
def test_references_of_other_forms(backend: str, name: str, tmp_path: Path) -> None:
    """Any function `solution` of a user's own problem gets a skeleton that hands all of its arguments on."""
    problem = changed(find_problem("1"), tmp_path, REFERENCES[name])
    text = starter_text(problem, backend)
    assert ast.dump(function(text).args) == ast.dump(function(REFERENCES[name]).args)
    assert "return _plain(x, *more, flag=flag, **others)" in text
    assert "solution" not in ast.unparse(function(text, "_plain"))


def test_reference_without_solution(tmp_path: Path) -> None:
    """A reference from which no skeleton can be made is named."""
    problem = changed(find_problem("1"), tmp_path, "solution = max\n")
    with pytest.raises(ProblemError, match=r"reference\.py defines no function 'solution'"):
        starter_text(problem, "cuda")


@pytest.mark.parametrize("backend", ["cdua", "", "CUDA"])
def test_unknown_backend_names_the_known(backend: str) -> None:
    """A backend that cannot be offered is refused with those that can."""
    with pytest.raises(UsageError, match=r"known: pytorch, cuda, triton, parallelkittens, cpp"):
        starter_text(find_problem("1"), backend)


@each_skeleton
def test_opening_makes_the_skeleton(backend: str, tmp_path: Path) -> None:
    """The working file of a backend lies where other harnesses look for it, and starts as that backend's starter."""
    settings = Settings(ranks=RanksSettings(device="cpu"), run=RunSettings(backend=backend, size="smoke"))
    target = resolve_target("1", settings, root=tmp_path)
    assert ensure_working_file(target)
    path = tmp_path / f"solutions_{backend}" / f"1_allreduce_{backend}.py"
    assert path.read_text() == starter_text(target.problem, backend)


@each_skeleton
def test_judged_from_the_command_line(backend: str, tmp_path: Path) -> None:
    """`pkwb eval` takes a skeleton under its backend."""
    path = working_file(find_problem("1"), backend, tmp_path)
    path.parent.mkdir()
    path.write_text(starter_text(find_problem("1"), backend))
    done = pkwb("eval", "1", str(path), "--backend", backend, "--size", "smoke", "--no-perf", cwd=tmp_path)
    assert (done.returncode, done.stdout.splitlines()[0].split()[:2]) == (0, ["1_allreduce", "ok"])


def test_unknown_backend_on_the_command_line(tmp_path: Path) -> None:
    """The command line refuses an unknown backend before any rank starts."""
    (tmp_path / "x.py").write_text("")
    done = pkwb("eval", "1", "x.py", "--backend", "cuba", cwd=tmp_path)
    assert done.returncode == 2
    assert (
        "there is no backend 'cuba'; did you mean 'cuda'?; known: pytorch, cuda, triton, parallelkittens, cpp"
        in done.stderr
    )


def test_harness_names_can_be_imported() -> None:
    """Candidates find `utils.cuda_helpers` inside the ranks, also at the top of their file."""
    sitting = Sitting("1", limit=10.0)
    try:
        text = "from utils.cuda_helpers import compile_cuda_extension\n"
        verdict = sitting.judge(f"{find_problem('1').reference_source()}\n{text}")
        assert verdict.status == "ok", verdict.reason
    finally:
        sitting.close()
