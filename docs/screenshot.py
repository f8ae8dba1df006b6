"""Make docs/screen.svg from the running program: two CPU ranks, problem 13, a starter, a wrong version, a good one."""

from __future__ import annotations

import asyncio
import dataclasses
import os
import re
import sys
import tempfile
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]
_SIZE = (160, 48)


async def _picture(folder: Path, out: Path) -> None:
    from workbench.app import Workbench
    from workbench.config import Settings
    from workbench.controllers.runs import make_engine
    from workbench.events import EventStream
    from workbench.resolve import ensure_working_file, resolve_target

    settings = Settings()
    settings = dataclasses.replace(settings, run=dataclasses.replace(settings.run, size="smoke", dtype="float32"))
    target = resolve_target("13", settings, root=folder)
    ensure_working_file(target)
    text = target.path.read_text(encoding="utf-8")
    app = Workbench(target, settings, text, EventStream(), make_engine)
    async with app.run_test(size=_SIZE) as pilot:
        for number, version in enumerate((text, text.replace("dist.all_reduce(product)", "pass"), text + "\n"), 1):
            target.path.write_text(version, encoding="utf-8")
            while app.view.current.number < number or app.view.current.verdict is None:
                await pilot.pause(0.1)
        await pilot.pause(1.0)
        out.write_text(_own_fonts(app.export_screenshot(title="pkwb open 13")), encoding="utf-8")


def _own_fonts(svg: str) -> str:
    """The picture in the reader's own monospaced font: nothing is fetched to show it."""
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace("Fira Code", "DejaVu Sans Mono")


def main() -> None:
    """Make the picture in folders of its own, so that nothing of the user's shows."""
    with tempfile.TemporaryDirectory() as name:
        for kind in ("STATE", "CACHE", "CONFIG"):
            os.environ[f"PKWB_{kind}_DIR"] = f"{name}/{kind.lower()}"
        sys.path.insert(0, str(_ROOT))
        asyncio.run(_picture(Path(name), _ROOT / "docs" / "screen.svg"))


if __name__ == "__main__":
    main()
