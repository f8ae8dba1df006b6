"""When the agent loop ends, and what it says then."""

from __future__ import annotations

import asyncio
import dataclasses
from typing import Any

import pytest

from sessions.solves import Solves
from tests.llm.looping import Run
from tests.sessions.samples import target
from workbench.errors import SettingsError, StoreError
from workbench.events import Notice, SolveFinished
from workbench.llm.loop import Solver
from workbench.target import SharedGpus


def test_stops_at_the_target(run: Run) -> None:
    """The loop ends when the lower end of the speedup's interval reaches the target, and names the best version."""
    run.worths = [("wrong", None), ("ok", 1.52), ("ok", 1.6)]
    finished = run.go(target=1.5)
    assert (finished.ending, finished.best_step, finished.correct) == ("target", 3, 1)
    assert finished.best is not None
    assert finished.best.median == 1.6
    assert [step.status for step in run.steps()] == ["wrong", "ok", "ok"]


def test_stops_when_right_where_nothing_is_timed(run: Run) -> None:
    """On ranks that share a GPU no call is timed: the first right version ends the sample, and that is said."""
    run.target = dataclasses.replace(target(), shared=SharedGpus(1, "1 × H200"))
    run.worths = [("wrong", None), ("ok", None)]
    finished = run.go(steps=5)
    assert (finished.ending, finished.best_step, finished.best) == ("target", 2, None)
    assert "2 ranks share a GPU" in finished.reason


def test_stops_after_its_steps(run: Run) -> None:
    """The step limit holds, and the best version is the fastest one, not the last."""
    run.worths = [("ok", 1.2), ("ok", 0.9), ("crash", None)]
    finished = run.go(steps=3)
    assert (finished.ending, len(run.model.asked), finished.best_step) == ("steps", 3, 1)


def test_stops_when_nothing_gets_better(run: Run) -> None:
    """So many proposals in a row without progress end the sample."""
    run.worths = [("ok", 1.0)]
    finished = run.go(stall=3)
    assert (finished.ending, len(run.model.asked)) == ("stall", 4)


def test_budget_holds(run: Run) -> None:
    """No request is sent when the budget is spent, and each is told what is left."""
    run.cost = 0.4
    finished = run.go(budget_usd=1.0)
    assert (finished.ending, finished.reason) == ("budget", "$1.20 of $1.00 are spent")
    assert run.model.left == pytest.approx([1.0, 0.6, 0.2])


def test_budget_without_a_price_is_refused(run: Run) -> None:
    """A budget that was asked for is not pretended to hold where no price is known; nothing is sent."""
    run.priced, run.given = False, frozenset({"llm.budget_usd"})
    with pytest.raises(SettingsError, match=r"no budget can be held; set llm\.input_price"):
        run.go(budget_usd=1.0)
    assert run.model.asked == []


def test_budget_stops_where_a_reply_cannot_be_counted(run: Run) -> None:
    """A reply of unknown cost is judged, and no other one is asked for under a budget."""
    run.cost = None
    finished = run.go(budget_usd=1.0, steps=5)
    assert (finished.ending, len(run.model.asked), finished.correct) == ("budget", 1, 1)
    assert "could not be counted" in finished.reason


def test_usual_budget_without_a_price_is_told(run: Run) -> None:
    """Where nobody asked for a budget the run goes on, and says what alone ends it."""
    run.priced, run.cost = False, None
    finished = run.go(budget_usd=5.0, steps=1)
    assert finished.ending == "steps"
    notices = [event.text for event in run.events if isinstance(event, Notice)]
    assert any("only the number of proposals ends this run" in text for text in notices)


def test_store_that_fails_stops_the_run(run: Run) -> None:
    """A disk that is full ends the run with its reason before more is spent, and the best version is still named."""

    def prepare(solver: Solver) -> None:
        keep = solver.solves.propose

        def full(*about: Any) -> int:
            if len(run.model.asked) > 1:
                raise StoreError("the store cannot be used: database or disk is full")
            return keep(*about)

        solver.solves.propose = full  # type: ignore[method-assign]

    run.prepare = prepare
    finished = run.go(steps=5)
    assert (finished.ending, finished.best_step, len(run.model.asked)) == ("trouble", 1, 2)
    assert "disk is full" in finished.reason


def test_interrupted_run_says_so(run: Run, kept: Solves) -> None:
    """Cancelled, the run tells its last word, and is kept as stopped."""

    def prepare(solver: Solver) -> None:
        task = asyncio.current_task()
        assert task is not None
        run.model.before = lambda number: task.cancel() if number == 2 else None

    run.prepare = prepare
    with pytest.raises(asyncio.CancelledError):
        run.go(steps=5)
    (finished,) = [event for event in run.events if isinstance(event, SolveFinished)]
    assert (finished.ending, finished.best_step) == ("stopped", 1)
    assert kept.solve(finished.run).state == "stopped"
