"""The agent loop with a model and an engine that do as they are told: when it stops, what it keeps, how it goes on."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sessions.recorder import Recorder
from sessions.solves import Solves
from sessions.store import Store
from tests.sessions.samples import target
from workbench.config import LlmSettings, Settings
from workbench.errors import SettingsError, StoreError, UsageError
from workbench.events import (
    Event,
    EventStream,
    Notice,
    Origin,
    Profile,
    ProposalFinished,
    Ran,
    Ratio,
    SolveFinished,
    SolveStep,
    SourceSeen,
    Verdict,
)
from workbench.llm.client import Facts, Messages
from workbench.llm.judging import Judging
from workbench.llm.loop import Solver
from workbench.target import SharedGpus, Source

START: Messages = [{"role": "system", "content": "rules"}, {"role": "user", "content": "task"}]
Worth = tuple[str, float | None]


def code(number: int) -> str:
    """A file of its own for each proposal."""
    return f"def solution(tensor):\n    return {number}\n"


class FakeModel:
    """Answers with numbered files, or with what the script says for a request."""

    def __init__(self, script: dict[int, dict[str, Any]], cost: float | None, priced: bool) -> None:
        self.script, self.cost, self.priced = script, cost, priced
        self.asked: list[Messages] = []
        self.left: list[float | None] = []
        self.before: Callable[[int], None] = lambda number: None

    async def facts(self) -> Facts:
        return Facts(self.priced, None)

    async def ask(self, messages: Messages, left_usd: float | None = None) -> ProposalFinished:
        self.asked.append([dict(message) for message in messages])
        self.left.append(left_usd)
        number = len(self.asked)
        self.before(number)
        await asyncio.sleep(0)
        text = code(number)
        said = {"outcome": "code", "code": text, "reply": f"```python\n{text}```\n", **self.script.get(number, {})}
        return ProposalFinished(
            proposal=number, model="fake", tokens_in=100, tokens_out=50, cost_usd=self.cost, **said
        )  # fmt: skip


class FakeEngine:
    """Gives verdicts in the order of the script, the last one again and again."""

    def __init__(self, stream: EventStream, worths: list[Worth]) -> None:
        self.stream, self.worths = stream, list(worths)
        self.profile: Profile | None = None
        self.number = 0
        self.sources: list[str] = []
        self.busy = False

    def submit(self, source: Source, origin: Origin) -> int:
        self.number += 1
        self.sources.append(source.text)
        seen = {"attempt": self.number, "path": str(source.path), "digest": source.digest}
        self.stream.emit(SourceSeen(**seen, changed=True, origin=origin))
        status, speedup = self.worths.pop(0) if len(self.worths) > 1 else self.worths[0]
        ratio = Ratio(median=speedup, low=speedup - 0.05, high=speedup + 0.05) if speedup else None
        verdict = Verdict(
            attempt=self.number, status=status, problem="1_allreduce", reason="so", ranks=(), speedup=ratio,
            profile=self.profile,
        )  # fmt: skip
        asyncio.get_running_loop().call_soon(self.stream.emit, verdict)
        return self.number

    async def wait(self) -> Verdict | None:
        return None


class Run:
    """One run over a store in a file, so that another one can go on with it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.target = target()
        self.worths: list[Worth] = [("ok", 1.0)]
        self.profile: Profile | None = None
        self.script: dict[int, dict[str, Any]] = {}
        self.cost: float | None = 0.5
        self.priced = True
        self.given: frozenset[str] = frozenset()
        self.events: list[Event] = []
        self.model: FakeModel
        self.engine: FakeEngine
        self.prepare: Callable[[Solver], None] = lambda solver: None

    def go(self, resume: str = "", **llm: Any) -> SolveFinished:
        """Run to the end."""
        return asyncio.run(self._go(resume, {"budget_usd": 0.0, "stall": 0, **llm}))

    def steps(self) -> list[SolveStep]:
        """What was told of each proposal."""
        return [event for event in self.events if isinstance(event, SolveStep)]

    async def _go(self, resume: str, llm: dict[str, Any]) -> SolveFinished:
        stream = EventStream()
        stream.subscribe(self.events.append)
        store = Store.open(self.path)
        recorder = Recorder(store, self.target, stream)
        self.model = FakeModel(self.script, self.cost, self.priced)
        self.engine = FakeEngine(stream, self.worths)
        self.engine.profile = self.profile
        solves = Solves(store)
        solver = Solver(
            target=self.target,
            settings=Settings(llm=LlmSettings(model="fake", **llm), given=self.given),
            stream=stream,
            client=self.model,
            judging=Judging(self.engine, recorder, stream),
            solves=solves,
            start=START,
            settle=recorder.settle,
            solve=solves.solve(resume) if resume else None,
        )
        self.prepare(solver)
        try:
            return await solver.run()
        finally:
            await recorder.close()
            store.close()


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A run over a store of its own."""
    return Run(tmp_path / "sessions.sqlite3")


@pytest.fixture
def kept(run: Run) -> Iterator[Solves]:
    """What the run has kept."""
    store = Store.open(run.path)
    yield Solves(store)
    store.close()


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
