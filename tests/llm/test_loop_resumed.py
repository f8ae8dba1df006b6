"""The agent loop on a run that was begun before."""

from __future__ import annotations

import pytest

from sessions.solves import Solves
from tests.llm.looping import START, Run, code
from workbench.errors import UsageError
from workbench.events import Profile, ProposalFinished, Ran
from workbench.llm.loop import Solver


def test_trouble_stops_and_can_be_resumed(run: Run) -> None:
    """A provider that fails stops the run with its words; resumed, it goes on where it was, without asking twice."""
    run.worths = [("ok", 1.3), ("wrong", None)]
    run.script = {3: {"outcome": "error", "trouble": "network", "code": "", "reply": "", "reason": "no network"}}
    first = run.go(steps=4)
    assert (first.ending, first.reason, first.best_step) == ("trouble", "no network", 1)
    asked = run.model.asked[2]
    run.script, run.worths = {}, [("ok", 1.4), ("ok", 1.1)]
    again = run.go(resume=first.run, steps=4)
    assert run.model.asked[0] == asked
    assert len(run.model.asked) == 2
    assert (again.ending, again.best_step, again.spent_usd) == ("steps", 3, 2.0)
    assert again.run == first.run


def test_label_is_of_what_ran(run: Run) -> None:
    """A collective that only the profile shows is in the label, told with every step and at the end, also of a run that
    goes on after its best version was judged."""
    run.profile = Profile(ran=(Ran(name="all_reduce", kind="collective", calls=1, ms=0.1),))
    run.worths = [("ok", 1.5)]
    first = run.go(steps=1, require="custom")
    doubt = "collectives ran that the source does not show"
    assert [(step.label, step.doubt) for step in run.steps()] == [("library", doubt)]
    run.profile, run.worths = None, [("wrong", None)]
    again = run.go(resume=first.run, steps=2, require="custom")
    assert f"custom was asked for, this looks library; {doubt}" in run.model.asked[0][-1]["content"]
    assert (first.label, first.doubt) == (again.label, again.doubt) == ("library", doubt)


def test_cancelled_request_is_no_step(run: Run) -> None:
    """A request that was cancelled costs no proposal: resumed, the run asks it again."""
    run.script = {2: {"outcome": "cancelled", "code": "", "reply": "", "reason": "cancelled"}}
    first = run.go(steps=2)
    assert (first.ending, len(run.model.asked)) == ("stopped", 2)
    asked, run.script = run.model.asked[1], {}
    again = run.go(resume=first.run, steps=2)
    assert run.model.asked == [asked]
    assert again.ending == "steps"


def test_conversation_that_is_gone_on_with(run: Run, kept: Solves) -> None:
    """Of a conversation of the workbench that the loop goes on with, requests that failed are no turns."""
    solve = kept.begin(run.target, "fake", "full", {})
    failed = ProposalFinished(proposal=1, model="fake", outcome="error", trouble="network", reason="no network")
    kept.propose(solve.name, 1, 1, "0" * 64, START, failed)
    run.go(resume=solve.name, steps=1)
    assert [message["role"] for message in run.model.asked[0]] == [message["role"] for message in START]


def test_killed_while_judging_is_judged_on_resume(run: Run, kept: Solves) -> None:
    """A reply that was kept before its verdict is judged first when the run is resumed, and not asked for again."""
    run.worths = [("infra", None)]
    first = run.go(steps=1)
    assert (first.ending, kept.proposals(first.run)[0].answer) == ("trouble", None)
    run.worths = [("ok", 1.2)]
    again = run.go(resume=first.run, steps=1)
    assert (run.model.asked, run.engine.sources) == ([], [code(1)])
    assert (again.best_step, again.correct) == (1, 1)


def test_run_of_another_program_is_left_alone(run: Run) -> None:
    """A run that goes on elsewhere cannot be resumed at the same time; when it has ended, it can."""
    seen: list[str] = []

    def prepare(solver: Solver) -> None:
        def resume_too(number: int) -> None:
            with pytest.raises(UsageError, match="runs in another pkwb") as caught:
                solver.solves.claim(solver.name)
            seen.append(str(caught.value))

        run.model.before = resume_too

    run.prepare = prepare
    first = run.go(steps=1)
    assert len(seen) == 1
    run.prepare = lambda solver: None
    assert run.go(resume=first.run, steps=2).best_step == 1
    assert [path.name for path in run.path.parent.iterdir() if path.suffix == ".running"] == []
