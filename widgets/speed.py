"""Speedup, times and bandwidth of the attempt, beside the best and the one before."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content

from widgets import format as fmt
from widgets.attempt import AttemptView
from widgets.layout import LABEL, field
from widgets.plain import plain
from widgets.reading import KEYS_HELP, ReadingPane
from widgets.state import RunView, Speed
from workbench.events import Bandwidth, Ratio
from workbench.target import Target

_BAR = 24
_SPARKS = "▁▂▃▄▅▆▇█"


class SpeedPane(ReadingPane):
    """How fast, how sure, and how much of the link is used."""

    HELP = f"""
### Speed

**speedup** is the reference's time over the candidate's, with its 95% interval; where the interval covers 1 there is no
measured difference. **best** and **before** are earlier good attempts. Times are medians with their 10th and 90th
percentile; each sample is the slowest rank's. **skew** is how far the fastest rank is ahead of the slowest.

**bandwidth** is the bytes that the result needs over the time, against the one-way peak of a rank's link.
Dimmed figures belong to the last good attempt and stay until this one has been timed.
{KEYS_HELP}"""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self._cpu = target.device == "cpu"
        self._view = RunView()

    def show_view(self, view: RunView) -> None:
        """Show another view."""
        if (view.current, view.good, view.best) != (self._view.current, self._view.good, self._view.best):
            self._view = view
            self.relayout()

    def build(self, width: int) -> list[Content]:
        """Speedup, its history, times, bandwidth."""
        view = self._view
        shown, stale = view.measured
        if shown is None:
            return [Content.styled("no speedup yet" if not view.busy else "not timed yet", "dim")]
        lines = [line for label, value in self._fields(shown, stale, width) for line in field(label, value, width)]
        lines = [Content.styled(line.plain, "dim") for line in lines] if stale else lines
        return lines + [line for label, value in _earlier(view, shown, width) for line in field(label, value, width)]

    def _fields(self, shown: AttemptView, stale: bool, width: int) -> Iterator[tuple[str, Content | str]]:
        """Label and value of each line about one attempt."""
        mark = f"  (dimmed: last good, #{shown.number})" if stale else ""
        if shown.speedup:
            yield "speedup", _speedup(shown.speedup) + mark
        if shown.timing and not shown.finished:
            yield "", f"timing {shown.timing.samples}/{shown.timing.total}"
        if shown.candidate_ms:
            yield "candidate", fmt.spread(shown.candidate_ms)
        if shown.reference_ms:
            yield "reference", fmt.spread(shown.reference_ms)
        yield from _quality(shown)
        if shown.bandwidth:
            yield from _bandwidth(shown.bandwidth, min(_BAR, max(4, width - LABEL)))


def _speedup(ratio: Ratio) -> Content:
    style = "" if not ratio.differs else "bold $text-success" if ratio.median > 1 else "bold $text-error"
    word = "" if ratio.differs else " no difference"
    return Content.styled(fmt.interval(ratio), style) + word


def _quality(shown: AttemptView) -> Iterator[tuple[str, Content | str]]:
    """Skew, flags and the times that are not part of a steady call."""
    final, live = shown.verdict, shown.timing
    skew = final.skew if final and final.skew is not None else live.skew if live else None
    flags = final.flags if final else live.flags if live else ()
    parts = [f"skew {fmt.percent(skew)}" if skew is not None else "", *(f"! {plain(flag)}" for flag in flags)]
    if any(parts):
        yield "quality", "  ".join(filter(None, parts))
    if final and final.first_call_ms is not None:
        yield "first call", fmt.duration(final.first_call_ms)
    if final and final.peak_rss_bytes:
        yield "memory", fmt.memory(final.peak_rss_bytes)


def _bandwidth(rate: Bandwidth, cells: int) -> Iterator[tuple[str, Content | str]]:
    peak = f" of {fmt.bandwidth(rate.peak_gbps)}" if rate.peak_gbps else " (peak of the link not known)"
    share = f"  {fmt.percent(rate.share)}" if rate.share is not None else ""
    yield "bandwidth", f"{fmt.figure(rate.gbps) if rate.peak_gbps else fmt.bandwidth(rate.gbps)}{peak}{share}"
    if rate.share is not None:
        yield "", Content.styled(fmt.bar(rate.share, cells), "$text-primary")
    yield "", f"reference {fmt.bandwidth(rate.reference_gbps)}"
    if rate.busbw is not None:
        yield "busbw", fmt.bandwidth(rate.busbw)
    yield "bytes", f"needed {fmt.moved(rate.needed_bytes)}, reference {fmt.moved(rate.reference_bytes)}"
    if rate.label:
        yield "", Content.styled(plain(rate.label), "dim")


def _earlier(view: RunView, shown: AttemptView, width: int) -> Iterator[tuple[str, Content | str]]:
    """The best so far, the change against the good attempt before, and the line of all speedups."""
    ratio = shown.speedup
    if view.best:
        itself = " this one" if view.best.number == shown.number else ""
        yield "best", f"{fmt.speedup(view.best.ratio.median)} (#{view.best.number}){itself}"
    before = view.baseline
    if before and ratio:
        yield "before", f"{fmt.speedup(before.ratio.median)} (#{before.number}) {_change(ratio, before)}"
    if len(view.speedups) > 1:
        yield "attempts", _sparkline(view.speedups[-max(8, width - LABEL) :])


def _change(ratio: Ratio, before: Speed) -> str:
    """The change of the medians; the intervals must not overlap for it to count."""
    apart = ratio.low > before.ratio.high or ratio.high < before.ratio.low
    changed = fmt.change(ratio.median / before.ratio.median) if before.ratio.median else ""
    return changed if apart else f"{changed} (within the intervals)"


def _sparkline(speeds: tuple[Speed, ...]) -> str:
    values = [speed.ratio.median for speed in speeds]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    marks = [_SPARKS[min(7, int((value - low) / span * 8))] if value == value else " " for value in values]
    return "".join(marks)
