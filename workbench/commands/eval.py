"""``pkwb eval``: judge one file without the screen, over the same flow as the workbench."""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.commands.arguments import TARGET_KEYS, add_flags, add_json, add_problem, flag_values
from workbench.config import Settings
from workbench.errors import INTERRUPTED
from workbench.events import Event, EventStream, Notice, Verdict, to_dict, to_json
from workbench.report import progress_lines, verdict_lines
from workbench.resolve import resolve_target
from workbench.settings import load_settings
from workbench.source import read_source
from workbench.stores import open_store
from workbench.target import Source, Target

if TYPE_CHECKING:
    from workbench.flow.engine import Engine

_ENDINGS: dict[str, int] = {"ok": 0, "infra": 3, "unknown": 3, "cancelled": INTERRUPTED, "superseded": INTERRUPTED}
"""Exit codes by status; every other status is judged and not ok."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    add_problem(parser)
    parser.add_argument("file", metavar="FILE", type=Path, help="Python file that defines solution(...)")
    add_flags(parser, *TARGET_KEYS, "run.trials")
    parser.add_argument("--no-perf", action="store_true", help="judge the results only, time nothing")
    add_json(parser, "print one event a line, the verdict last")


def run(arguments: argparse.Namespace) -> int:
    """Judge the file; the exit code says how it ended."""
    flags = flag_values(arguments)
    settings = load_settings(flags)
    if arguments.no_perf:
        settings = dataclasses.replace(settings, run=dataclasses.replace(settings.run, samples=0))
    target = resolve_target(arguments.problem, settings, arguments.file, any_dtype="run.dtype" not in flags)
    source = read_source(target.path)
    show = _print_json if arguments.json else _print_report
    verdict = asyncio.run(_Evaluation(target, settings, source, show).run())
    return INTERRUPTED if verdict is None else _ENDINGS.get(verdict.status, 1)


class _Evaluation:
    """One attempt from its submission to its verdict, in its own event loop."""

    def __init__(self, target: Target, settings: Settings, source: Source, show: Callable[[Event], None]) -> None:
        self._target, self._settings, self._source = target, settings, source
        self._show = show
        self._stream = EventStream()
        self._gone: BrokenPipeError | None = None
        self._ended = False
        self._judging: asyncio.Task[Verdict | None] | None = None

    async def run(self) -> Verdict | None:
        """The verdict, after every event was shown; None when interrupted. No rank is left when it returns."""
        from sessions.recorder import Recorder
        from workbench.flow.engine import Engine

        self._stream.subscribe(self._on_event)
        engine = Engine(self._target, self._settings, self._stream)
        store = await asyncio.to_thread(open_store, self._settings)
        recorder = Recorder(store, self._target, self._stream)
        recorder.remember(self._source)
        self._judging = asyncio.create_task(self._judge(engine))
        self._listen_to_signals()
        try:
            return await self._judging
        except asyncio.CancelledError:
            return None
        finally:
            await engine.close()
            await recorder.close()
            store.close()
            if self._gone is not None:
                raise self._gone

    async def _judge(self, engine: Engine) -> Verdict | None:
        await engine.start()
        engine.submit(self._source, "eval")
        return await engine.wait()

    def _listen_to_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._stop)

    def _stop(self) -> None:
        if self._judging is not None:
            self._judging.cancel()

    def _on_event(self, event: Event) -> None:
        if self._gone is not None:
            return
        try:
            (_print_late if self._ended else self._show)(event)
        except BrokenPipeError as error:
            # Raised here it would end up in the engine; it waits until the ranks are gone.
            self._gone = error
            self._stop()
        self._ended = self._ended or isinstance(event, Verdict)


def _print_late(event: Event) -> None:
    """After the verdict, the last line on stdout, only trouble is told."""
    if isinstance(event, Notice):
        _print_report(event)


def _print_json(event: Event) -> None:
    print(to_json(event), flush=True)


def _print_report(event: Event) -> None:
    if isinstance(event, Verdict):
        sys.stderr.flush()
        print("\n".join(verdict_lines(to_dict(event))), flush=True)
    else:
        for line in progress_lines(event):
            print(line, file=sys.stderr)
