"""Problems of a ParallelKernelBench checkout: found, described, judged by its own generator and comparison."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from problems.loader import catalogue, find_problem
from tests.checkout import KNOWN, OWN, write_checkout
from tests.flow.sitting import Sitting
from tests.program import pkwb
from workbench.errors import ProblemError


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A miniature checkout."""
    return write_checkout(tmp_path / "checkout")


def text_of(top: Path, stem: str) -> str:
    return (top / "solutions_pytorch" / f"{stem}_pytorch.py").read_text()


def test_its_problems_alone_are_listed(top: Path) -> None:
    """With a checkout, its references make the catalogue, by number."""
    assert [(entry.number, entry.stem) for entry in catalogue((), top)] == [(13, KNOWN), (900, OWN)]


def test_a_known_task_keeps_its_words_and_gets_the_benchmarks_rules(top: Path) -> None:
    """What pkwb knows of the task is shown; reference, generator, comparison and sizes are the checkout's."""
    problem, built_in = find_problem("13", (), top), find_problem("13")
    assert problem.statement == built_in.statement
    assert problem.reference_source() == (top / "reference" / f"{KNOWN}.py").read_text()
    assert (problem.compare, problem.tolerance.rms["bfloat16"], problem.tolerance.rel["float32"]) == (
        "allclose",
        0.01,
        0.01,
    )
    assert problem.sizes["default"]["M"] == 1024


def test_an_unknown_task_has_the_names_of_its_arguments(top: Path) -> None:
    """A task that pkwb has no description of lists what its reference takes; arguments with a default are optional."""
    problem = find_problem("grouped", (), top)
    assert [item.name for item in problem.inputs] == ["layer", "parts", "counts", "pair", "scale"]
    assert problem.arguments == ["layer", "parts", "counts"]


@pytest.mark.parametrize("world", [2, 4])
@pytest.mark.parametrize("stem", [KNOWN, OWN])
def test_right_candidates_are_ok(top: Path, stem: str, world: int) -> None:
    """Layers, lists, groups and numbers reach the candidate as the generator made them; other dtypes pass, as there."""
    sitting = Sitting(find_problem(stem, (), top), world, "bfloat16", limit=60, trials=5, samples=20)
    try:
        verdict = sitting.judge(text_of(top, stem))
    finally:
        sitting.close()
    assert (verdict.status, verdict.trials_passed, verdict.reason) == ("ok", 5, "")
    assert verdict.speedup is not None


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("dist.all_reduce(total, group=pair)", "pass", "out[0]"),
        ("dist.all_reduce(total, group=pair)", "dist.all_reduce(total)", "out[0]"),
        ("counts + dist.get_rank()", "counts + 9", "out[1]"),
    ],
)
def test_wrong_candidates_are_found(top: Path, old: str, new: str, reason: str) -> None:
    """A missing exchange, the wrong group and wrong counts are wrong on four ranks."""
    sitting = Sitting(find_problem(OWN, (), top), 4, "float32", limit=60)
    try:
        verdict = sitting.judge(text_of(top, OWN).replace(old, new))
    finally:
        sitting.close()
    assert verdict.status == "wrong"
    assert reason in verdict.reason


def test_a_stale_result_is_found_in_the_timing(top: Path) -> None:
    """Elements change before timed calls, so that a result of the call before does not pass."""
    stale = (
        "\n\n_kept = []\n_right = solution\n\n\ndef solution(*a):\n    _kept.append(_right(*a))\n    return _kept[0]\n"
    )
    sitting = Sitting(find_problem(KNOWN, (), top), 2, "float32", limit=60, trials=1, samples=20)
    try:
        verdict = sitting.judge(text_of(top, KNOWN) + stale)
    finally:
        sitting.close()
    assert verdict.status == "wrong"
    assert "timed call" in verdict.reason


def _remove(name: str) -> Callable[[Path], None]:
    def act(top: Path) -> None:
        path = top / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return act


def _write(name: str, text: str) -> Callable[[Path], None]:
    return lambda top: top.joinpath(name).write_text(text) and None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_remove("."), "is not a folder; give the top of a ParallelKernelBench checkout"),
        (_remove("reference"), "has no folder reference/; a checkout has reference/<number>_<name>.py and utils/"),
        (_remove("utils/input_output_tensors.py"), "utils/input_output_tensors.py is missing"),
        (_write("utils/input_output_tensors.py", "def other(): ..."), "defines no function create_input_tensor"),
        (_write("utils/input_output_tensors.py", "def ("), "line 1: not valid Python"),
        (_write(f"reference/{KNOWN}.py", "x = 1"), f"{KNOWN}.py defines no function solution"),
    ],
)
def test_incomplete_checkouts_say_what_is_missing(top: Path, change: Callable[[Path], None], message: str) -> None:
    """Each part that is missing is named with its path."""
    change(top)
    with pytest.raises(ProblemError) as error:
        find_problem("13", (), top)
    assert message in str(error.value)


def test_a_checkout_without_references_says_so(top: Path) -> None:
    """A folder reference/ without numbered files is not a checkout."""
    for path in (top / "reference").iterdir():
        path.rename(path.with_name(f"x{path.name}"))
    with pytest.raises(ProblemError, match=r"holds no <number>_<name>\.py"):
        catalogue((), top)


def test_a_generator_that_fails_is_not_the_candidates_fault(top: Path) -> None:
    """An error in the generator ends the attempt as infra, with the generator's own message."""
    path = top / "utils" / "input_output_tensors.py"
    path.write_text(path.read_text().replace("m, n = shape", 'raise ValueError("no such task")'))
    sitting = Sitting(find_problem("13", (), top), 2, "float32", limit=60)
    try:
        verdict = sitting.judge(text_of(top, KNOWN))
    finally:
        sitting.close()
    assert verdict.status == "infra"
    assert "no such task" in verdict.reason


def test_show_and_list_tell_what_is_known(top: Path) -> None:
    """A task without a description is listed and shown with its arguments, its comparison and no figures."""
    listed = pkwb("list", "--pkb", str(top), "--json", cwd=top)
    assert [entry["number"] for entry in json.loads(listed.stdout)] == [13, 900]
    shown = pkwb("show", "900", "--pkb", str(top), cwd=top).stdout
    assert "solution(layer, parts, counts, pair=None, scale=1.0)" in shown
    assert "|got - ref| <= 0.01 + 0.01 * |ref|" in shown
    assert "needed bytes" not in shown
    assert "no communication" not in shown


def test_eval_takes_the_checkouts_own_solution(top: Path) -> None:
    """`pkwb eval --pkb DIR 13` judges the file in the checkout's solutions folder."""
    done = pkwb("eval", "--pkb", str(top), "13", "--size", "64x32", "--device", "cpu", "--no-perf", "--json", cwd=top)
    last = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, last["status"], last["problem"]) == (0, "ok", KNOWN)


def test_a_folder_of_candidates_gets_a_table(top: Path, tmp_path: Path) -> None:
    """Every file that is named after a problem is judged, and the exit code says that one of them failed."""
    folder = tmp_path / "candidates"
    shutil.copytree(top / "solutions_pytorch", folder)
    (folder / "sample1").mkdir()
    (folder / "sample1" / f"{KNOWN}_pytorch.py").write_text("def solution(A_local, B_local):\n    return A_local\n")
    (folder / "130_other.py").write_text("")
    common = ("--pkb", str(top), "--size", "64x32", "--device", "cpu", "--no-perf", "--solutions", str(folder))
    done = pkwb("eval", "13", *common, cwd=tmp_path)
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(("candidates/", "sample1/"))]
    assert [(row[0], row[1]) for row in rows] == [
        (f"candidates/{KNOWN}_pytorch.py", "ok"),
        (f"sample1/{KNOWN}_pytorch.py", "contract"),
    ]
    assert done.stdout.splitlines()[-1] == "2 candidates: 1 contract, 1 ok"
    assert done.returncode == 1
    every = pkwb("eval", "all", *common, "--json", cwd=tmp_path)
    summary = json.loads(every.stdout.splitlines()[-1])
    assert (summary["event"], summary["counts"]) == ("summary", {"contract": 1, "ok": 2})


def test_of_many_problems_the_impossible_ones_are_left_out(tmp_path: Path) -> None:
    """With `all`, a problem that cannot run on so many ranks is told on stderr and the others are judged."""
    for stem in ("1_allreduce", "73_vocab_parallel_cross_entropy_loss"):
        (tmp_path / f"{stem}_x.py").write_text("def solution(*arguments):\n    return None\n")
    common = ("--solutions", str(tmp_path), "--ranks", "3", "--size", "smoke", "--device", "cpu", "--no-perf")
    done = pkwb("eval", "all", *common, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "1 candidate: 1 contract"
    assert "left out: problem 73 cannot run on 3 ranks" in done.stderr
    alone = pkwb("eval", "73", *common, cwd=tmp_path)
    assert alone.returncode == 2
    assert "cannot run on 3 ranks" in alone.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("13", "--solutions", "nowhere"), "nowhere is not a folder"),
        (("13", "--solutions", "."), "holds no file named 13_gemm_allreduce_<anything>.py"),
        (("13", "x.py", "--solutions", "."), "give either FILE or --solutions DIR"),
        (("13",), "solutions_pytorch/13_gemm_allreduce_pytorch.py does not exist"),
        (("13", "--pkb", "nowhere"), "nowhere is not a folder"),
    ],
)
def test_bad_arguments(tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    """What cannot be judged is said before any rank starts."""
    done = pkwb("eval", *arguments, "--device", "cpu", cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
