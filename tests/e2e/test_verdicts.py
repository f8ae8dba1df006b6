"""Saves from outside, and what the screen says of them: the real program, real ranks, two of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import candidates
from tests.e2e.conftest import Start
from tests.e2e.processes import with_argument
from tests.e2e.sitting import SETTINGS, Sitting
from tests.saves import by_rename, in_pieces, in_place, with_backup

VERDICT, SPEED, HISTORY, EDITOR = "5 Verdict", "6 Speed", "7 History", "1_allreduce_pytorch.py"


@pytest.mark.parametrize("how", [by_rename, in_place, with_backup, in_pieces])
def test_good_save(sitting: Sitting, how: Callable[[Path, str], None]) -> None:
    """A right candidate, however it is saved: ok on both ranks, with times, speedup and its interval, bandwidth."""
    assert sitting.judge(candidates.good(how.__name__), how) == "ok"
    sitting.sees(VERDICT, "ok, 2 of 2 trials", "0 ✓ ok", "1 ✓ ok")
    sitting.sees(SPEED, "x [", "candidate", "reference", "bandwidth", "of measured", "gloo")
    sitting.sees(EDITOR, f"# {how.__name__}")
    sitting.until("checked 2/2")
    sitting.until("timed 40/40")


def test_save_that_changes_nothing(sitting: Sitting) -> None:
    """The same text saved once more is seen, with its time, and not run again."""
    sitting.judge(candidates.good("the same"))
    number = sitting.latest
    sitting.save(candidates.good("the same"))
    sitting.until("unchanged")

    assert sitting.latest == number


def test_wrong_on_one_rank(sitting: Sitting) -> None:
    """A result that is wrong on rank 1 alone: that rank, the first bad index, what was expected and what came."""
    assert sitting.judge(candidates.WRONG_ON_1) == "wrong"
    sitting.sees(VERDICT, "wrong on rank 1: out[3, 5] expected", "got", "0 ✓ ok", "1 ✗ wrong")


def test_killed_by_signal(sitting: Sitting) -> None:
    """A rank that dies of a signal: which one, of which signal, at which line of the user's file."""
    assert sitting.judge(candidates.SEGFAULT_ON_1) == "crash"
    sitting.sees(VERDICT, "crash on rank 1", "SIGSEGV", "1_allreduce_pytorch.py:9")


def test_exception_on_one_rank(sitting: Sitting) -> None:
    """An exception on rank 1: the traceback in the log, and one key leads to its line."""
    assert sitting.judge(candidates.RAISES_ON_1) == "crash"
    sitting.sees(VERDICT, "crash on rank 1", "ValueError: no such luck")
    sitting.press("next error")
    sitting.until("error: ValueError: no such luck · 9:1")
    sitting.go("9")
    sitting.sees(HISTORY, "1! Traceback", "1! ValueError: no such luck")


def test_syntax_error(sitting: Sitting) -> None:
    """A syntax error is in the list of errors, and enter on it leads to its line."""
    assert sitting.judge(candidates.SYNTAX_ERROR) == "build-error"
    sitting.go("8")
    sitting.sees(HISTORY, "error 4:13 SyntaxError: '(' was never closed")
    sitting.press("enter")
    sitting.until("4:13 ─╯")


def test_hang(start: Start) -> None:
    """A rank that never returns: soon a table says where each rank stands, then the attempt ends as a hang."""
    sitting = start(settings=SETTINGS + "run = 3.0\n").ready()
    sitting.run_until(candidates.HANGS_ON_1, "rank 0: stands at all_reduce", "rank 1: stands at solution")
    sitting.look()

    assert sitting.verdict(2) == "hang"
    sitting.sees(VERDICT, "∞ hang", "1_allreduce_pytorch.py:11", "1_allreduce_pytorch.py:10")
    assert sitting.judge(candidates.good("after a hang")) == "ok"


def test_next_save_supersedes(sitting: Sitting) -> None:
    """While a save runs the last good result stays, marked as such; a new save ends the run at once."""
    sitting.judge(candidates.good("the last good one"))
    good = sitting.latest
    number = sitting.run_until(candidates.HANGS_ON_1, f"dimmed: last good, #{good}", "0 ✓ ok", "1 ✓ ok")
    sitting.sees(SPEED, f"dimmed: last good, #{good}")
    sitting.save(candidates.good("the next one"))

    assert sitting.verdict(number) == "superseded"
    assert sitting.verdict(number + 1) == "ok"
    sitting.sees(VERDICT, "ok, 2 of 2 trials")


def test_many_saves_in_a_row(sitting: Sitting) -> None:
    """A burst of saves ends with the verdict on the last one."""
    before = sitting.latest
    for turn in range(8):
        sitting.save(candidates.good(f"turn {turn}") if turn < 7 else candidates.WRONG_ON_1)
    sitting.sees(VERDICT, "wrong on rank 1")
    sitting.until(lambda: "wrong" in [status for number, status in sitting.attempts.items() if number > before])

    assert sitting.attempts[sitting.latest] == "wrong"


def test_cancel(sitting: Sitting) -> None:
    """One key ends a run that takes too long; its ranks are gone, and the next save runs."""
    number = sitting.run_until(candidates.hangs_with_sleepers("86399.25"), "stands at")
    sitting.wait(lambda: len(with_argument("86399.25")) == 2)
    sitting.press("cancel")

    assert sitting.verdict(number) == "cancelled"
    sitting.wait(lambda: not with_argument("86399.25"))
    assert sitting.judge(candidates.good("after a cancelled one")) == "ok"


def test_processes_left_behind(sitting: Sitting) -> None:
    """Processes that a candidate starts in sessions of their own do not outlive its attempt."""
    assert sitting.judge(candidates.leaves_sleepers("86399.5")) == "ok"
    sitting.wait(lambda: not with_argument("86399.5"))


def test_screen_answers_during_a_run(sitting: Sitting) -> None:
    """While ranks run, panes open, help opens, and text can be typed."""
    number = sitting.run_until(candidates.HANGS_ON_1)
    sitting.go("2", lambda: "rank 1" in sitting.pane("2 Topo"))
    sitting.press("help")
    sitting.until(lambda: "Topology" in sitting.pane("Help"))
    sitting.press("escape")
    sitting.until(lambda: not sitting.pane("Help"))
    sitting.go("1", "Arguments")
    sitting.go("4")
    sitting.type_at_top("# typed meanwhile")
    sitting.sees(EDITOR, "# typed meanwhile")
    sitting.sees(VERDICT, f"#{number} running")
    sitting.press("save")
    assert sitting.verdict(number) == "superseded"
    sitting.sees(VERDICT, f"#{number + 1} running")
    sitting.press("cancel")
    assert sitting.verdict(number + 1) == "cancelled"


def test_gigabyte_of_output(sitting: Sitting) -> None:
    """A candidate that prints 1 GB is judged all the same; the log says how much it left out."""
    assert sitting.judge(candidates.PRINTS_A_GIGABYTE) == "ok"
    sitting.go("9")
    sitting.sees(HISTORY, "0| ... 53", "1| ... 53", "were dropped")


def test_other_files_in_the_folder(sitting: Sitting) -> None:
    """Other files that appear beside the working file run nothing."""
    number = sitting.latest
    beside = sitting.path.with_name("other_file.py")
    beside.write_text("x = 1\n")
    os.replace(beside, beside.with_suffix(".bak"))

    assert sitting.judge(candidates.good("the next save")) == "ok"
    assert sitting.latest == number + 1


def test_nothing_grows(sitting: Sitting) -> None:
    """Attempts, good and bad, leave no process, no descriptor and no shared memory behind."""
    assert sitting.judge(candidates.good("before the count")) == "ok"
    before = sitting.held()
    for turn in range(3):
        assert sitting.judge(candidates.good(f"counted {turn}")) == "ok"
        assert sitting.judge(f"# {turn}\n{candidates.SEGFAULT_ON_1}") == "crash"
    assert sitting.judge(candidates.good("after the count")) == "ok"

    sitting.until(lambda: sitting.held() == before)
