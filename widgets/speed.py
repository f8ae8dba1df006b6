"""Speedup, times and bandwidth of the attempt, beside the best and the one before."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator

from textual.content import Content

from widgets import format as fmt
from widgets.attempt import AttemptView
from widgets.floors import distances, floor_text
from widgets.layout import LABEL, field, packed, wrapped
from widgets.plain import plain
from widgets.rates import bandwidth_fields
from widgets.reading import KEYS_HELP, ReadingPane
from widgets.state import RunView, Speed
from widgets.timed import timed_text
from workbench.events import Ratio
from workbench.target import Target

_BAR = 24
_SPARKS = "▁▂▃▄▅▆▇█"

Field = tuple[str, Content | str]
"""Label and value of one line."""


class SpeedPane(ReadingPane):
    """How fast, how sure, and how much of the link is used."""

    HELP = f"""
### Speed

**speedup** is the reference's time over the candidate's, with its 95% interval, for which it takes three pairs of
blocks; where the interval covers 1 there is no measured difference. **best** is the fastest good attempt under these
conditions, of this sitting or, with its `id` in the session store, of an earlier one; **before** is the good attempt
before. Times are medians with their 10th and 90th percentile; each sample is the slowest rank's. **skew** is how far
the fastest rank is ahead of the slowest.
**timed** says whether calls began with caches full of other data (cold), how long the host took to launch a call, which
the times leave out, and the clock of the GPUs. **! launch-bound**: launching takes longer than the work itself.
**! blocks-on-device**: the call waits for its GPU, or launches for over 1 ms, so that launches count.

**bandwidth** is the bytes that the result needs over the time, of the rank that needs most; **nominal** is the one-way
rate of its links on paper, **measured** the best rate that pkwb saw between these ranks: shares of both are shown.
**floor** is the least time that the topology allows, with the term that decides it; `--topology NAME` asks what it
would be on another system. A time that the links cannot carry is told as `suspect`.
Dimmed figures belong to the last good attempt and stay until this one has been timed.
{KEYS_HELP}"""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self._not_timed = f"not timed: {target.not_timed}" if target.not_timed else ""
        self._view = RunView()

    def show_view(self, view: RunView) -> None:
        """Show another view."""
        if _seen(view) != _seen(self._view):
            self._view = view
            self.relayout()

    def build(self, width: int) -> list[Content]:
        """What matters most first: speedup, earlier attempts, times with their flags, bandwidth, then the rest."""
        view = self._view
        shown, stale = view.measured
        if shown is None:
            nothing = "not timed yet" if view.busy else "no speedup yet"
            return [*wrapped(Content.styled(self._not_timed or nothing, "dim"), width)]
        top = _lines(_speedup(shown, stale, self._not_timed), width, stale)
        rest = _lines(_figures(shown, max(4, width - LABEL)), width, stale)
        return [*top, *_lines(_earlier(view, shown, width), width), *rest]


def _seen(view: RunView) -> tuple[object, ...]:
    return view.current, view.good, view.best, view.record


def _lines(fields: Iterable[Field], width: int, stale: bool = False) -> list[Content]:
    lines = [line for label, value in fields for line in field(label, value, width)]
    return [Content.styled(line.plain, "dim") for line in lines] if stale else lines


def _speedup(shown: AttemptView, stale: bool, not_timed: str) -> Iterator[Field]:
    """The ratio with its interval, and how many samples it rests on while they are taken; else why there is none."""
    ratio = shown.speedup
    if ratio is None:
        yield "speedup", not_timed or "not timed"
        return
    style = "" if not ratio.differs else "bold $text-success" if ratio.median > 1 else "bold $text-error"
    yield "speedup", Content.styled(fmt.interval(ratio), style)
    marks = [
        f"timing {shown.timing.samples}/{shown.timing.total}" if shown.timing and not shown.finished else "",
        fmt.sureness(ratio),
        f"dimmed: last good, #{shown.number}" if stale else "",
    ]
    if any(marks):
        yield "", " · ".join(filter(None, marks))


def _figures(shown: AttemptView, room: int) -> Iterator[Field]:
    """Times and how far they can be trusted, bandwidth, what was measured once."""
    if shown.candidate_ms:
        yield "candidate", fmt.spread(shown.candidate_ms)
    if shown.reference_ms:
        yield "reference", fmt.spread(shown.reference_ms)
    if timed := _timed(shown):
        yield "timed", timed
    yield from _quality(shown, room)
    if shown.bandwidth:
        yield from bandwidth_fields(shown.bandwidth, min(_BAR, room))
        yield from _floor(shown)
    yield from _once(shown)


def _timed(shown: AttemptView) -> str:
    """Cache, graph, launch time and clock; final, or live."""
    figures = shown.verdict or shown.timing
    if figures is None:
        return ""
    launch = dataclasses.asdict(figures.launch_ms) if figures.launch_ms else None
    plain_figures = {name: getattr(figures, name) for name in ("protocol", "cache", "graph", "clock_mhz")}
    return timed_text({**plain_figures, "launch_ms": launch})


def _floor(shown: AttemptView) -> Iterator[Field]:
    """The least time on the topology, its terms, and how far both sides are above it."""
    if shown.bandwidth is None or shown.bandwidth.floor is None:
        return
    floor = dataclasses.asdict(shown.bandwidth.floor)
    times = {"candidate": shown.candidate_ms, "reference": shown.reference_ms}
    yield "floor", plain(floor_text(floor))
    above = distances(floor, {side: spread.median for side, spread in times.items() if spread})
    if above:
        yield "", above


def _quality(shown: AttemptView, room: int) -> Iterator[Field]:
    """Skew and flags; a flag is never parted from its sign."""
    final, live = shown.verdict, shown.timing
    skew = final.skew if final and final.skew is not None else live.skew if live else None
    flags = final.flags if final else live.flags if live else ()
    parts = [f"skew {fmt.percent(skew)}" if skew is not None else "", *(f"! {plain(flag)}" for flag in flags)]
    for place, line in enumerate(packed(filter(None, parts), room)):
        yield "" if place else "quality", line


def _once(shown: AttemptView) -> Iterator[Field]:
    """What is not part of a steady call: the first one, and the memory that was needed."""
    final = shown.verdict
    once = fmt.duration(final.first_call_ms) if final and final.first_call_ms is not None else ""
    peak = f"memory {fmt.memory(final.peak_rss_bytes)}" if final and final.peak_rss_bytes else ""
    if once or peak:
        yield "first call", "  ".join(filter(None, (once or "-", peak)))


def _earlier(view: RunView, shown: AttemptView, width: int) -> Iterator[Field]:
    """The best so far, the change against the good attempt before, and the line of all speedups."""
    ratio = shown.speedup
    best, record = view.best, view.record
    if record and (not best or record.ratio.median > best.ratio.median):
        yield "best", f"{fmt.speedup(record.ratio.median)} (id {record.number}, earlier sitting)"
    elif best:
        yield "best", f"{fmt.speedup(best.ratio.median)} (#{best.number}){' this one' * (best.number == view.attempt)}"
    before = view.baseline
    if before and ratio:
        yield "before", f"{fmt.speedup(before.ratio.median)} (#{before.number}){_change(ratio, before)}"
    if len(view.speedups) > 1:
        yield "attempts", _sparkline(view.speedups[-max(8, width - LABEL) :])


def _change(ratio: Ratio, before: Speed) -> str:
    """The change of the medians; the intervals must not overlap for it to count."""
    now, then = ratio.interval, before.ratio.interval
    apart = now and then and (now[0] > then[1] or now[1] < then[0])
    if not apart or not before.ratio.median:
        return ", no clear change"
    return f" {fmt.change(ratio.median / before.ratio.median)}"


def _sparkline(speeds: tuple[Speed, ...]) -> str:
    values = [speed.ratio.median for speed in speeds]
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    marks = [_SPARKS[min(7, int((value - low) / span * 8))] if value == value else " " for value in values]
    return "".join(marks)
