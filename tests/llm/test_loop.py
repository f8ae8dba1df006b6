"""The agent loop with a model and an engine that do as they are told: what the model hears and what is kept."""

from __future__ import annotations

import asyncio

from sessions.solves import Solves
from tests.llm.looping import Run, code
from workbench.events import Notice
from workbench.llm.loop import Solver


def test_samples_have_conversations_of_their_own(run: Run, kept: Solves) -> None:
    """Each sample begins with the task alone, and ends by itself."""
    run.worths = [("wrong", None), ("ok", 1.0), ("crash", None), ("hang", None)]
    finished = run.go(steps=2, samples=2)
    assert (finished.samples, finished.correct) == (2, 1)
    assert [len(asked) for asked in run.model.asked] == [2, 4, 2, 4]
    assert [(one.sample, one.step) for one in kept.proposals(finished.run)] == [(1, 1), (1, 2), (2, 1), (2, 2)]


def test_feedback_reaches_the_model(run: Run) -> None:
    """What came of a proposal is the next message, after the model's own reply."""
    run.worths = [("wrong", None), ("ok", 1.0)]
    run.go(steps=2)
    told = run.model.asked[1]
    assert [message["role"] for message in told] == ["system", "user", "assistant", "user"]
    assert "1_allreduce  wrong: so" in told[3]["content"]


def test_reply_without_code_is_told_and_counted(run: Run, kept: Solves) -> None:
    """A reply without a file costs a step, is not judged, and the model hears what is missing."""
    run.script = {1: {"outcome": "no-code", "code": "", "reply": "Hello", "reason": "There is no file."}}
    finished = run.go(steps=2)
    assert run.engine.sources == [code(2)]
    assert "Nothing was run: There is no file." in run.model.asked[1][3]["content"]
    assert [one.outcome for one in kept.proposals(finished.run)] == ["no-code", "code"]


def test_same_file_again_is_told(run: Run) -> None:
    """A model that proposes a file twice hears that it did."""
    run.script = {number: {"code": code(0), "reply": f"```python\n{code(0)}```\n"} for number in (1, 2)}
    run.go(steps=3)
    assert "proposed before, letter by letter" not in run.model.asked[1][-1]["content"]
    assert "proposed before, letter by letter" in run.model.asked[2][-1]["content"]


def test_pause_and_remark(run: Run) -> None:
    """Paused, nothing is sent; the remark made meanwhile goes with the next request, once."""
    waits: list[Solver] = []

    def prepare(solver: Solver) -> None:
        def pause_at_first(number: int) -> None:
            if number == 1:
                solver.pause()
                solver.steer("use two streams")
                asyncio.get_running_loop().call_later(0.05, resume)

        def resume() -> None:
            assert solver.paused
            assert len(run.model.asked) == 1
            waits.append(solver)
            solver.go_on()

        run.model.before = pause_at_first

    run.prepare = prepare
    run.go(steps=3)
    assert len(waits) == 1
    contents = [asked[-1]["content"] for asked in run.model.asked]
    assert ["A remark of the user: use two streams" in text for text in contents] == [False, True, False]


def test_too_long_a_conversation_is_shortened(run: Run) -> None:
    """When the model's context is full the middle is left out, the user is told, and the run goes on."""
    run.worths = [("ok", 1.0), ("ok", 2.0), ("ok", 1.0)]
    run.script = {5: {"outcome": "error", "trouble": "context", "code": "", "reply": "", "reason": "too long"}}
    finished = run.go(steps=5)
    assert finished.ending == "steps"
    assert len(run.model.asked[4]) == 10
    assert len(run.model.asked[5]) == 6
    assert run.model.asked[5][2]["content"].count(code(2)) == 1
    assert any("its middle is left out" in event.text for event in run.events if isinstance(event, Notice))


def test_each_proposal_is_an_attempt(run: Run, kept: Solves) -> None:
    """Every judged proposal is an attempt in the store with its model; the proposal has prompt, tokens and cost."""
    run.worths = [("wrong", None), ("ok", 1.5)]
    finished = run.go(steps=2)
    proposals = kept.proposals(finished.run)
    attempts = kept.attempts(finished.run)
    assert [attempts[one.id].status for one in proposals] == ["wrong", "ok"]
    assert {attempt.model for attempt in attempts.values()} == {"fake"}
    assert len({one.prompt for one in proposals}) == 2
    assert [(one.tokens_in, one.tokens_out, one.cost) for one in proposals] == [(100, 50, 0.5)] * 2
    assert finished.best_id == attempts[proposals[1].id].id
    assert kept.solve(finished.run).state == "finished"


def test_superseded_proposal_is_judged_again(run: Run) -> None:
    """A save of the user's that takes the ranks away costs no proposal."""
    run.worths = [("superseded", None), ("ok", 1.2)]
    finished = run.go(steps=1)
    assert run.engine.sources == [code(1), code(1)]
    assert finished.best_step == 1


def test_twenty_steps_cost_the_loop_little(run: Run, kept: Solves) -> None:
    """The loop keeps all of twenty proposals and tells its own time apart from the model's and the judging's."""
    finished = run.go(steps=20)
    assert len(kept.proposals(finished.run)) == 20
    assert 0 < finished.own_seconds < 20
