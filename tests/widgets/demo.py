"""The whole app in a real terminal with a scripted runner: ``python -m tests.widgets.demo FOLDER``."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import sys
from pathlib import Path

from tests.widgets.script import REFERENCE, good_run, make_problem, make_target, telemetry
from tests.widgets.stage import ScriptedRunner
from workbench.app import Workbench
from workbench.config import Settings, UiSettings
from workbench.events import EventStream
from workbench.target import Source


class DemoRunner(ScriptedRunner):
    """Every submitted source is good; with DEMO_TICK the machine's load changes that often."""

    def submit(self, source: Source, origin):  # type: ignore[no-untyped-def]
        number = super().submit(source, origin)
        for event in good_run(number)[1:]:
            self.emit(event)
        self.running = 0
        return number

    async def start(self) -> None:
        await super().start()
        if tick := float(os.environ.get("DEMO_TICK", "0")):
            self._task = asyncio.create_task(self._telemetry(tick))

    async def _telemetry(self, tick: float) -> None:
        load = 0
        while not self.closed:
            await asyncio.sleep(tick)
            load = (load + 7) % 100
            self.emit(telemetry(float(load)))


def main() -> int:
    """Open it on a file in the folder."""
    folder = Path(sys.argv[1])
    path = folder / "1_allreduce_pytorch.py"
    if not path.exists():
        more = "".join(f"# line {n} of a long file\n" for n in range(int(os.environ.get("DEMO_LINES", "0"))))
        path.write_text(REFERENCE + more)
    make_problem(folder)
    target = dataclasses.replace(make_target(folder), path=path)
    settings = Settings(ui=UiSettings(telemetry=0.0, theme=os.environ.get("DEMO_THEME", "pkwb-dark")))
    app = Workbench(target, settings, path.read_text(), EventStream(), DemoRunner, survive=True)
    code = app.run(mouse=os.environ.get("DEMO_MOUSE", "1") == "1")
    return code if code is not None else app.return_code or 0


if __name__ == "__main__":
    raise SystemExit(main())
