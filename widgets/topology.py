"""How the ranks are placed and linked, drawn, with the machine's load."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.content import Content

from widgets import format as fmt
from widgets.layout import wrapped
from widgets.plain import plain
from widgets.reading import KEYS_HELP, ReadingPane
from widgets.state import RunView
from workbench.events import GpuLoad, Telemetry
from workbench.target import Target
from workbench.topology.model import Topology

Drawing = Callable[[int], list[str]]
"""The lines of a topology at a width in cells."""


class TopologyPane(ReadingPane):
    """The drawing is made once the machine has been looked at, which may take a while."""

    HELP = f"""
### Topology

Where each rank runs and what links it to the others; rates are one-way, GB/s with GB = 1e9 bytes. With
`--topology NAME` it is that system, with the ranks placed on it as if they ran there.
The first lines are the load of the machine and of the ranks' GPUs, looked at only while nothing is timed. What
crosses a GPU's NVLinks is shown where the driver counts it.
{KEYS_HELP}"""

    def __init__(self, target: Target, detect: Callable[[int, str], Drawing] | None = None) -> None:
        super().__init__()
        self._target = target
        self._detect = detect or _drawing
        self._drawing: Drawing | None = None
        self._failure = ""
        self._telemetry: Telemetry | None = None
        self._live: tuple[str, ...] = ()
        self._peak: float | None = None

    def on_mount(self) -> None:
        """Look at the machine without making anybody wait."""
        self.relayout()
        self._look_again()

    def show_view(self, view: RunView) -> None:
        """The load changes, and the link's rate once it has been measured."""
        rate = view.current.bandwidth
        if rate is not None and rate.peak_gbps is not None and rate.peak_gbps != self._peak:
            self._peak = rate.peak_gbps
            self._look_again()
        if view.telemetry is not self._telemetry:
            self._telemetry = view.telemetry
            live = _loads(view.telemetry) if view.telemetry else ()
            if live != self._live:
                self._live = live
                self.relayout()

    def build(self, width: int) -> list[Content]:
        """The load, then the drawing."""
        texts = self._live or ("load of the machine: not measured yet",)
        live = [line for text in texts for line in wrapped(Content.styled(text, "dim"), width, 2)]
        if self._failure:
            return [*live, Content(), *wrapped(self._failure, width)]
        if self._drawing is None:
            return [*live, Content(), Content.styled("looking at the machine ...", "dim")]
        lines = (Content(plain(line)) for line in self._drawing(width))
        return [*live, Content(), *self._title(width), *lines]

    def _title(self, width: int) -> list[Content]:
        """The name of a system that is not this machine."""
        what_if = self._target.what_if
        if what_if is None:
            return []
        return [*wrapped(f"what if: {what_if.name} ({what_if.source})", width), Content()]

    def _look_again(self) -> None:
        self.run_worker(self._look(), group="topology", exclusive=True, exit_on_error=False)

    async def _look(self) -> None:
        try:
            what_if = self._target.what_if
            if what_if is not None:
                self._drawing = _drawn(what_if)
            else:
                self._drawing = await asyncio.to_thread(self._detect, self._target.world, self._target.device)
        except Exception as error:
            self._failure = f"the topology could not be found out: {plain(str(error)) or type(error).__name__}"
        self.relayout()


def _drawing(world: int, device: str) -> Drawing:
    from workbench.topology.detect import detect

    return _drawn(detect(world, device))


def _drawn(topology: Topology) -> Drawing:
    from workbench.topology.draw import draw

    return lambda width: draw(topology, max(30, width))


def _loads(now: Telemetry) -> tuple[str, ...]:
    memory = f"{fmt.memory(now.memory_used_bytes)} of {fmt.memory(now.memory_total_bytes)}"
    return f"cpu {now.cpu_percent:.0f}%  load {now.load:.1f}  memory {memory}", *map(_gpu, now.gpus)


def _gpu(now: GpuLoad) -> str:
    """What is known of a rank's GPU; figures that the driver does not tell are left out."""
    figures = (
        "" if now.busy_percent is None else f"gpu {now.busy_percent:.0f}%",
        f"memory {fmt.memory(now.memory_used_bytes)} of {fmt.memory(now.memory_total_bytes)}",
        "" if now.clock_mhz is None else f"{now.clock_mhz:.0f} MHz",
        "" if now.power_watts is None else f"{now.power_watts:.0f} W",
        "" if now.sent_gbps is None else f"NVLink out {now.sent_gbps:.1f} in {now.received_gbps:.1f} GB/s",
    )
    return "  ".join((f"rank {now.rank}:", *filter(None, figures)))
