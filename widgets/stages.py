"""One line: how far the attempt has come, with the time of each stage."""

from __future__ import annotations

import time
from collections.abc import Callable

from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from widgets import format as fmt
from widgets.attempt import AttemptView, Stage
from widgets.plain import plain
from widgets.state import RunView, clock
from widgets.words import STAGES, status_text

_SEPARATOR = " > "


class StageLine(Widget):
    """Stages of the current attempt; ticks once a second while one runs, and not at all otherwise."""

    HELP = """
### Stages

From the save to the last sample: what is done with its time, what runs with its elapsed seconds. A save without a
change is said at the end and runs nothing.
"""
    DEFAULT_CSS = "StageLine { height: 1; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }"

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._now = now
        self._view = RunView()
        self._shown = Content()
        self._tick: Timer | None = None
        self.ticking = False
        """Whether the line is drawn again each second."""

    def on_mount(self) -> None:
        """The clock stands still until something runs."""
        self._tick = self.set_interval(1.0, self._draw, pause=True)
        self.show_view(self._view)

    def on_resize(self) -> None:
        """Another width may leave out other details."""
        self._draw()

    def show_view(self, view: RunView) -> None:
        """Show another view."""
        self._view = view
        if self._tick is not None and self.ticking != view.busy:
            self.ticking = view.busy
            self._tick.resume() if view.busy else self._tick.pause()
        self._draw()

    def render(self) -> Content:
        """The line."""
        return self._shown

    def _draw(self) -> None:
        line = stage_line(self._view, self.size.width or 80, self._now())
        if not line.is_same(self._shown):
            self._shown = line
            self.refresh()


def stage_line(view: RunView, width: int, now: float) -> Content:
    """The line at this width in cells; the narrower, the fewer details, and the latest stages stay."""
    if not view.attempt:
        return _waiting(view)
    tail = _tail(view)
    for times, first in ((True, 0), (False, 0), (False, 1), (False, 2), (False, 3), (False, 4)):
        line = Content(_SEPARATOR).join([*_parts(view, times, now)[first:], *tail])
        if line.cell_length <= width:
            return line
    return line


def _waiting(view: RunView) -> Content:
    if view.ready is None:
        return Content.styled("starting ranks", "dim")
    ready = view.ready
    return Content.styled(f"{ready.world} ranks ready ({ready.device}, {fmt.brief(ready.startup_ms)})", "dim")


def _parts(view: RunView, times: bool, now: float) -> list[Content]:
    came = "proposed" if view.current.origin == "model" else "saved"
    saved = Content(f"{came} {clock(view.saved)}" if times else clock(view.saved))
    current = view.current
    return [saved, *(_stage(one, current, times, now) for one in current.stages if one.state != "waiting")]


def _stage(stage: Stage, current: AttemptView, times: bool, now: float) -> Content:
    words = STAGES[stage.phase]
    count = _count(stage, current)
    if stage.state == "running":
        seconds = int(now - stage.started)
        return Content.styled(f"{words.running}{count}{f' {seconds} s' if seconds > 0 else ''}", "bold")
    if stage.state == "stopped":
        return Content(f"{words.running}{count}, stopped")
    detail = f" ({plain(stage.detail)})" if times and stage.detail and not count else ""
    took = f" {fmt.brief(stage.elapsed_ms)}" if times and stage.elapsed_ms > 0 else ""
    if stage.state == "failed":
        return Content.styled(f"✗ {words.failed}{detail}{took}", "$text-error")
    return Content(f"{words.finished}{count}{detail}{took}")


def _count(stage: Stage, current: AttemptView) -> str:
    if stage.phase == "check":
        passed, trials = current.trials
        return f" {passed}/{trials}" if trials else ""
    if stage.phase == "time" and current.timing:
        return f" {current.timing.samples}/{current.timing.total}"
    return ""


def _tail(view: RunView) -> list[Content]:
    """The verdict, and a later save that changed nothing."""
    verdict = view.current.verdict
    tail = [status_text(verdict.status)] if verdict else []
    seen = view.seen
    if seen and not seen.changed and seen.time >= view.saved:
        tail.append(Content.styled(f"seen {clock(seen.time)}, unchanged", "dim"))
    return tail
