"""The agent loop over a store of its own, with a model and an engine that do as they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sessions.recorder import Recorder
from sessions.solves import Solves
from sessions.store import Store
from tests.sessions.samples import target
from workbench.config import LlmSettings, Settings
from workbench.events import (
    Event,
    EventStream,
    Origin,
    Profile,
    ProposalFinished,
    Ratio,
    SolveFinished,
    SolveStep,
    SourceSeen,
    Verdict,
)
from workbench.llm.client import Facts, Messages
from workbench.llm.judging import Judging
from workbench.llm.loop import Solver
from workbench.target import Source

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
