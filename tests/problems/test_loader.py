"""Finding and reading problem folders."""

from __future__ import annotations

import ast
import shutil
from pathlib import Path

import pytest

from problems.loader import BUILT_IN, catalogue, find_problem, load_problem
from problems.model import Input
from workbench.errors import ProblemError

ENTRIES = catalogue()


def copy(tmp_path: Path, name: str = "001_allreduce", old: str = "", new: str = "") -> Path:
    """A copy of a built-in folder with one change in its problem.toml."""
    folder = tmp_path / name
    shutil.copytree(BUILT_IN / name, folder)
    text = (folder / "problem.toml").read_text()
    assert old in text
    (folder / "problem.toml").write_text(text.replace(old, new, 1))
    return folder


def test_catalogue_lists_the_problems_by_number() -> None:
    """All 87 problems are listed by number, and the listing agrees with the folders' full contents."""
    assert [entry.number for entry in ENTRIES] == list(range(1, 88))
    for entry in ENTRIES:
        problem = load_problem(entry.folder)
        assert (entry.stem, entry.title, entry.group) == (problem.stem, problem.title, problem.group)
        assert (entry.parallelism, entry.collectives) == (problem.parallelism, problem.collectives)


@pytest.mark.parametrize(
    "text",
    [
        *("42", "042", "#42", "problem_42", "Problem 42", "zero2", " ZeRO2_opt "),
        *("42_zero2_optimizer_shard_grad", "042_zero2_optimizer_shard_grad"),
    ],
)
def test_find(text: str) -> None:
    """A number, problem_N, the stem, the folder's name or a unique part of the name all find the problem."""
    assert find_problem(text).number == 42


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("all_reduc", "1_allreduce"),
        ("ring_atention", "54_ring_attention"),
        ("9999", "there is no problem '9999'"),
        ("", "there is no problem ''"),
        ("scatter", "fits several problems: 5_scatter, 7_reducescatter"),
    ],
)
def test_not_found(text: str, message: str) -> None:
    """An unknown name gets near names, an ambiguous one the candidates."""
    with pytest.raises(ProblemError) as error:
        find_problem(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("compare =", "comprae =", "comprae: unknown key; did you mean 'compare'?"),
        ('compare = "close"\n', "", "key 'compare' is missing"),
        ('compare = "close"', 'compare = "clsoe"', "compare: must be one of close, exact, set"),
        ("M = 1024", 'M = "many"', "sizes.default.M: must be a whole number, not 'many'"),
        ('kind = "tensor"', 'kind = "tenser"', "inputs[0].kind: must be one of tensor"),
        ('shape = ["M", "N"]', 'shape = ["M", "N +"]', "inputs[0].shape: formula 'N +'"),
        ('shape = ["M", "N"]', 'shape = ["M", "K"]', "inputs.tensor.shape: formula 'K': no symbol 'K'"),
        ('formula = "rank + 1"', 'formula = "rnak + 1"', "no symbol 'rnak'; did you mean 'rank'?"),
        (
            'judged = { kind = "normal" }',
            'judged = { kind = "normal", scael = 2 }',
            "inputs[0].judged.scael: unknown key",
        ),
        ("[sizes.smoke]", "[sizes.smokey]", "unknown size; did you mean 'smoke'?"),
        ('stem = "1_', 'stem = "2_', "stem: must start with the problem's number, '1_'"),
        ("number = 1\n", "number = true\n", "number: must be a whole number, not True"),
        ("number = 1\n", "number = \n", "not valid TOML: Invalid value (at line 1, column 10)"),
        ("[figures]", "[tolerance]\nrms = 'x'\n\n[figures]", "tolerance.rms: must be a table of numbers, not 'x'"),
    ],
)
def test_malformed(tmp_path: Path, old: str, new: str, message: str) -> None:
    """A malformed folder is refused with the file, the key and the nearest known key."""
    folder = copy(tmp_path, old=old, new=new)
    with pytest.raises(ProblemError) as error:
        load_problem(folder)
    assert str(folder / "problem.toml") in str(error.value)
    assert message in str(error.value)


def test_unreadable(tmp_path: Path) -> None:
    """A missing file and one that is not text are said, not raised as a traceback."""
    with pytest.raises(ProblemError, match="No such file"):
        load_problem(tmp_path)
    (tmp_path / "problem.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ProblemError, match="not UTF-8"):
        load_problem(tmp_path)


def test_own_folder(tmp_path: Path) -> None:
    """A problem of the user's own is listed after the built-in ones and found by name."""
    folder = copy(tmp_path, old='number = 1\nstem = "1_allreduce"', new='number = 501\nstem = "501_mine"')
    for paths in ([tmp_path], [folder], [str(tmp_path)]):
        assert catalogue(paths)[-1].stem == "501_mine"
        assert find_problem("mine", paths).folder == folder


@pytest.mark.parametrize(("stem", "number"), [("1_mine", 1), ("1_allreduce", 1)])
def test_own_folder_may_not_reuse_a_number(tmp_path: Path, stem: str, number: int) -> None:
    """A number or stem that is taken is refused; the message names both files."""
    folder = copy(tmp_path, old='stem = "1_allreduce"', new=f'stem = "{stem}"')
    with pytest.raises(ProblemError, match=f"problem number {number} is used twice") as error:
        catalogue([tmp_path])
    assert str(BUILT_IN / "001_allreduce" / "problem.toml") in str(error.value)
    assert str(folder / "problem.toml") in str(error.value)


def test_own_folder_missing(tmp_path: Path) -> None:
    """A path in the settings that does not exist is named with its key."""
    with pytest.raises(ProblemError, match=r"problems\.paths: .*nowhere is not a folder"):
        catalogue([tmp_path / "nowhere"])


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.stem)
def test_reference_takes_the_declared_arguments(entry: object) -> None:
    """reference.py has one public function, solution, whose arguments are the declared inputs, and helpers."""
    problem = load_problem(entry.folder)  # type: ignore[attr-defined]
    body = ast.parse(problem.reference_path.read_text(encoding="utf-8")).body
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    kinds = (ast.FunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.Expr)
    assert all(isinstance(node, kinds) for node in body)
    assert [node.name for node in functions if not node.name.startswith("_")] == ["solution"]
    arguments = functions[-1].args
    assert [argument.arg for argument in arguments.args] == [item.name for item in problem.inputs]
    optional = problem.inputs[len(problem.inputs) - len(arguments.defaults) :]
    assert {item.name for item in problem.inputs if item.default} <= {item.name for item in optional}


def test_inputs_are_plain_data() -> None:
    """A loaded problem's inputs keep their order and their draws."""
    inputs = find_problem("42").inputs
    assert all(isinstance(item, Input) for item in inputs)
    assert [item.name for item in inputs][:3] == ["X_local", "y_local", "W1"]
    assert inputs[2].draw.only_rank == 0
    assert inputs[-1].draw.formula == "1 + trial % 7"
