"""What the agent loop and the proposer cost: a scripted server on loopback, the real litellm, real CPU ranks."""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path

from benchmarks.report import Figure, parser, publish, spread
from tests.flow.candidates import GOOD
from tests.llm.server import Reply, Server, fenced, serving
from workbench.config import LlmSettings, RunSettings, SessionSettings, Settings
from workbench.events import Event, EventStream, ProposalDelta, ProposerChanged, SolveFinished
from workbench.llm.client import ModelClient
from workbench.resolve import Opener
from workbench.solving import Solving

STEPS = 20
OWN_SECONDS = 1.0
FIRST_PIECE_MS = 100.0
_TEXT = fenced(GOOD, before="What limits this version is the launch. " * 60)


def main() -> None:
    """Run it and print the figures."""
    arguments = parser(
        "What the agent loop adds to the model's and the judging's time; when a reply's first piece comes."
    )
    arguments.add_argument("--replies", type=int, default=20, help="replies whose first piece is timed")
    chosen = arguments.parse_args()
    figures = [*_pieces(chosen.replies), *_loop()]
    publish("model_loop", figures, chosen.json)


def _pieces(replies: int) -> list[Figure]:
    """When the first piece of a reply is on the event stream, from the moment in which the server lets it go."""
    with serving(Reply(_TEXT, wait_after=0)) as server:
        return asyncio.run(_time_pieces(server, replies))


async def _time_pieces(server: Server, replies: int) -> list[Figure]:
    arrivals: list[float] = []
    stream = EventStream()
    stream.subscribe(lambda event: arrivals.append(time.perf_counter()) if isinstance(event, ProposalDelta) else None)
    loading: list[float] = []
    stream.subscribe(lambda event: loading.append(_loaded(event)))
    client = ModelClient(LlmSettings(model="openai/fake", api_base=server.url), stream)
    delays = []
    for _ in range(replies):
        server.go.clear()
        server.waiting.clear()
        arrivals.clear()
        asked = asyncio.ensure_future(client.ask([{"role": "user", "content": "Write it."}]))
        await asyncio.to_thread(server.waiting.wait)
        began = time.perf_counter()
        server.go.set()
        await asked
        delays.append((arrivals[0] - began) * 1e3)
    await client.close()
    return [
        Figure("litellm loaded in the background", max(loading), "s"),
        *spread("first byte of a reply to its event", delays, "ms", FIRST_PIECE_MS),
    ]


def _loaded(event: Event) -> float:
    return event.elapsed_s if isinstance(event, ProposerChanged) else 0.0


def _loop() -> list[Figure]:
    """A run of so many proposals, each judged and timed."""
    candidates = [fenced(f"# {number}\n{GOOD}") for number in range(STEPS)]
    with tempfile.TemporaryDirectory() as folder, serving(*candidates) as server:
        settings = Settings(
            run=RunSettings(size="smoke", samples=10, trials=2),
            sessions=SessionSettings(path=str(Path(folder) / "sessions.sqlite3")),
            llm=LlmSettings(
                model="openai/fake", api_base=server.url, steps=STEPS, stall=0, input_price=1.0, output_price=1.0
            ),
        )
        target = Opener(settings, Path(folder)).target("1")
        began = time.perf_counter()
        finished = asyncio.run(Solving(target, settings, lambda event: None).run())
    assert isinstance(finished, SolveFinished)
    assert finished.ending == "steps", finished.reason
    note = f"{STEPS} proposals"
    return [
        Figure("the loop's own time", finished.own_seconds, "s", OWN_SECONDS, note),
        Figure("the whole run", time.perf_counter() - began, "s", None, note),
    ]


if __name__ == "__main__":
    main()
