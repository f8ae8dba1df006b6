"""The whole app on a stage: a scripted runner instead of ranks, a working file and state folder of its own."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from tests.widgets.script import REFERENCE, make_problem, make_target
from workbench.app import Workbench
from workbench.config import LlmSettings, Settings, UiSettings, WatchSettings
from workbench.controllers.asking import make_client
from workbench.events import Event, EventStream, Origin, RanksReady, SourceSeen, Verdict
from workbench.opening import first_text
from workbench.resolve import Opener
from workbench.target import Source, Target

TEXT = REFERENCE
Maker = Callable[[Target, Settings, EventStream], Any]


@dataclass
class ScriptedRunner:
    """Stands for the engine: remembers what it is given and ends an attempt when told to."""

    target: Target
    settings: Settings
    stream: EventStream
    given: list[tuple[Source, Origin]] = field(default_factory=list)
    running: int = 0
    closed: bool = False
    waiting: list[asyncio.Future[None]] = field(default_factory=list)

    @property
    def busy(self) -> bool:
        return self.running > 0

    async def start(self) -> None:
        self.stream.emit(RanksReady(world=2, device="cpu", backend="gloo", startup_ms=1.0, torch="2"))

    def submit(self, source: Source, origin: Origin) -> int:
        self.given.append((source, origin))
        self.running = len(self.given)
        path = str(source.path)
        self.emit(SourceSeen(attempt=self.running, path=path, digest=source.digest, changed=True, origin=origin))
        return self.running

    def emit(self, event: Event) -> None:
        self.stream.emit(event)

    def end(self, status: Any = "ok", reason: str = "") -> None:
        number, self.running = self.running, 0
        for one in self.waiting:
            if not one.done():
                one.set_result(None)
        self.waiting.clear()
        stem = self.target.problem.stem
        self.emit(Verdict(attempt=number, status=status, problem=stem, reason=reason, ranks=()))

    def cancel(self) -> None:
        self.end("cancelled", "cancelled")

    async def wait(self) -> None:
        if self.busy:
            self.waiting.append(asyncio.get_running_loop().create_future())
            await self.waiting[-1]

    async def kernel_code(self, source: Source, kind: str) -> tuple[str, str]:
        return ("", "no disassembler") if kind == "sass" else (f".entry k // {source.path.name}\n\tret;", "")

    async def close(self) -> None:
        self.closed = True


@dataclass
class Stage:
    """What a test needs at hand."""

    app: Workbench
    pilot: Pilot[int]
    runner: ScriptedRunner
    path: Path
    runners: list[ScriptedRunner]
    """All that were made, one for each problem that was opened."""

    @property
    def text(self) -> str:
        return self.app.editor_pane.editor.text

    def write(self, text: str) -> None:
        """Put text at the cursor, as typing it would."""
        self.app.editor_pane.editor.insert(text)

    async def until(self, condition: Callable[[], object], seconds: float = 10.0) -> None:
        """Wait until something has become true."""
        for _ in range(int(seconds / 0.01)):
            if condition():
                return
            await asyncio.sleep(0.01)
        raise AssertionError("did not happen in time")

    def messages(self) -> str:
        """All messages that are on screen."""
        return "\n".join(note.message for note in self.app._notifications)


def settings(**ui: Any) -> Settings:
    """Settings for the stage: quick polling-free watch, no telemetry."""
    return Settings(ui=dataclasses.replace(UiSettings(telemetry=0.0), **ui), watch=WatchSettings())


@asynccontextmanager
async def stage(
    folder: Path,
    *,
    size: tuple[int, int] = (160, 48),
    text: str = TEXT,
    ready: bool = True,
    survive: bool = False,
    world: int = 2,
    choose: bool = False,
    client: Any = make_client,
    llm: LlmSettings | None = None,
    **ui: Any,
) -> AsyncIterator[Stage]:
    """The running app on a file in ``folder``; with ``choose`` it begins with the list of problems instead."""
    path = folder / "solutions_pytorch" / "1_allreduce_pytorch.py"
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        path.write_text(text)
    target = dataclasses.replace(make_target(folder, world), path=path)
    make_problem(folder)
    runners: list[ScriptedRunner] = []

    def make(*args: Any) -> ScriptedRunner:
        runners.append(ScriptedRunner(*args))
        return runners[-1]

    chosen = dataclasses.replace(settings(**ui), llm=llm or LlmSettings())
    stream = EventStream()
    first = None if choose else target
    app = Workbench(
        first, chosen, first_text(path), stream, make, opener=Opener(chosen, folder), client=client, survive=survive
    )
    async with app.run_test(size=size) as pilot:
        place = Stage(app, pilot, ScriptedRunner(target, chosen, stream), path, runners)
        if ready and not choose:
            await place.until(lambda: runners and runners[-1].given)
        if runners:
            place.runner = runners[-1]
        yield place


def shown(place: Stage, selector: str) -> bool:
    """Whether a widget has room on the screen."""
    widget = place.app.screen_stack[0].query_one(selector)
    return bool(widget.region.area) and widget.is_on_screen


def words(place: Stage, pane: str) -> str:
    """What a pane says."""
    widget: Any = place.app.panes[pane]
    return "\n".join(widget.lines.texts)


async def play(place: Stage, events: list[Any]) -> None:
    """Send events and wait until they are drawn."""
    for event in events:
        place.runner.emit(event)
    await place.pilot.pause(0.1)


async def dialog(place: Stage) -> None:
    """Wait until a question is on screen."""
    await place.until(lambda: len(place.app.screen_stack) == 2)
