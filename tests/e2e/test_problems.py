"""From one problem to another inside the running program."""

from __future__ import annotations

from tests.e2e import candidates
from tests.e2e.conftest import Start
from tests.e2e.processes import descendants, with_argument


def test_begin_with_the_list(start: Start) -> None:
    """Without a problem the list is shown, no rank runs, and the problem that is chosen is opened and judged."""
    sitting = start(problem="", size=(80, 24))
    sitting.sees("Problems", "1 allreduce")
    assert not descendants(sitting.process.pid)

    sitting.press("allgather", "enter")
    sitting.until(lambda: "2_allgather" in sitting.screen.display[0] and "ranks ready" in sitting.screen.display[0])
    sitting.until("ok, 2 of 2 trials")
    sitting.look()
    sitting.press("quit")

    assert sitting.ended() == 0
    sitting.gone()


def test_another_problem_in_the_middle_of_a_run(start: Start) -> None:
    """Another problem is opened while a run hangs: nothing of the old one is left, and no more is held than before."""
    word = "86391.5"
    sitting = start().ready()
    held = sitting.held()
    sitting.run_until(candidates.hangs_with_sleepers(word), "stands at")
    sitting.wait(lambda: len(with_argument(word)) == 2)
    before = sitting.look()
    sitting.press("problems")
    sitting.choose("allgather", "2_allgather")

    sitting.wait(lambda: not before & sitting.look() and with_argument(word) == [])
    sitting.wait(lambda: sitting.held() == held)
    assert (sitting.folder / "work" / "solutions_pytorch" / "2_allgather_pytorch.py").exists()
    sitting.press("quit")
    assert sitting.ended() == 0
    sitting.gone()
