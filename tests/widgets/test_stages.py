"""The stage line."""

from __future__ import annotations

import re

import pytest

from tests.widgets import script
from tests.widgets.host import Host
from widgets.stages import StageLine, stage_line
from widgets.state import RunView, clock


def read(view: RunView, width: int = 120, after: float = 0.0) -> str:
    """The line at a width, some seconds after the last save."""
    return stage_line(view, width, view.saved + after).plain


def test_good_run() -> None:
    """A finished run shows each stage with its time, then its status."""
    line = read(script.show(script.good_run()))

    assert line == (
        f"saved {clock(script.NOON)} > built 2 ms > ranks ready 0.4 ms > loaded 3.1 ms > checked 5/5 20 ms"
        " > timed 100/100 810 ms > ✓ ok"
    )


def test_running_stage_counts_seconds() -> None:
    """The stage that runs shows its seconds and how far it is."""
    view = script.show([*script.loaded(), script.judged(1, 0, 0), script.judged(1, 1, 0)])

    assert read(view, after=7.2).endswith("> checking 1/5 7 s")
    assert read(view, after=0.3).endswith("> checking 1/5")


def test_live_samples() -> None:
    """While timing, samples are counted."""
    assert read(script.show(script.timing_run())).endswith("> timing 63/100")


def test_failed_stage() -> None:
    """A stage that failed says so in words."""
    assert "✗ build failed" in read(script.show(script.build_error_run()))


def test_cancelled_stage() -> None:
    """A cancelled run says in which stage it stopped."""
    view = script.show([*script.loaded(), script.verdict(1, "cancelled")])

    assert read(view).endswith("> checking 0/5, stopped > ■ cancelled")


def test_unchanged_save_is_seen() -> None:
    """A save without a change is said with its time."""
    view = script.show([*script.good_run(), script.seen(1, changed=False, later=5)])

    assert read(view, 160).endswith(f"> seen {clock(script.NOON + 5)}, unchanged")


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_line_fits(width: int) -> None:
    """A narrower line leaves details out, never the stage that runs or the verdict."""
    running, done = script.show(script.timing_run()), script.show(script.good_run())

    assert len(read(running, width)) <= width
    assert "timing 63/100" in read(running, width)
    assert len(read(done, width)) <= width
    assert read(done, width).endswith("✓ ok")


def test_before_the_first_save() -> None:
    """Before the first save the line says whether ranks are ready."""
    assert read(RunView()) == "starting ranks"
    assert read(script.show([script.ready()])) == "2 ranks ready (cpu, 52 ms)"


async def test_clock_ticks_only_while_something_runs() -> None:
    """The elapsed seconds go on while a stage runs; an idle line draws nothing."""
    now = [script.NOON]
    line = StageLine(now=lambda: now[0])
    async with Host(line).run_test(size=(100, 4)) as pilot:
        line.show_view(script.show(script.loaded()))
        now[0] += 12
        while "12 s" not in str(line.render()):
            await pilot.pause(0.05)
        line.show_view(script.show(script.good_run()))
        await pilot.pause()

        assert re.search(r"✓ ok$", str(line.render()))
        assert not line.ticking
