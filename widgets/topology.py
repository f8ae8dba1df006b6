"""How the ranks are placed and linked, drawn, with the machine's load."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from textual import work
from textual.content import Content

from widgets import format as fmt
from widgets.edges import Edges, edges, pair_lines
from widgets.layout import wrapped
from widgets.plain import plain
from widgets.reading import KEYS_HELP, ReadingPane
from widgets.state import RunView
from workbench.aside import Aside
from workbench.events import GpuLoad, Telemetry
from workbench.target import Target
from workbench.topology.model import Topology

Live = Mapping[int, Sequence[str]]
"""Short lines about a rank's links, by rank."""
Drawing = Callable[[int, Live], list[str]]
"""The lines of a topology at a width in cells, with what goes on at its links."""


class TopologyPane(ReadingPane):
    """The drawing is made once the machine has been looked at, which may take a while."""

    HELP = f"""
### Topology

Where each rank runs and what links it to the others; rates are one-way, GB/s with GB = 1e9 bytes. With
`--topology NAME` it is that system, with the ranks placed on it as if they ran there.
The first lines are the load of the machine and of the ranks' GPUs, looked at only while nothing is timed.
At each rank stand **eff**, the effective bandwidth of the newest timed attempt, and **out** and **in**, what the driver
counted on its NVLinks; where links lead from GPU to GPU a table has each pair. The last lines are what transfer
mechanisms reach of a link's rate, and where that is from.
{KEYS_HELP}"""

    def __init__(self, target: Target, detect: Callable[[int, str], Drawing] | None = None) -> None:
        super().__init__()
        self._target = target
        self._detect = detect or _drawing
        self._drawing: Drawing | None = None
        self._failure = ""
        self._loads: tuple[str, ...] = ()
        self._edges = Edges(by_rank={}, pairs={}, legend=())
        self._peak: float | None = None

    def on_mount(self) -> None:
        """Look at the machine without making anybody wait."""
        self.relayout()
        self._look()

    def show_view(self, view: RunView) -> None:
        """The load changes, and the link's rate once it has been measured."""
        rate = view.current.bandwidth
        if rate is not None and rate.peak_gbps is not None and rate.peak_gbps != self._peak:
            self._peak = rate.peak_gbps
            self._look()
        loads = (*_loads(view.telemetry), *self._silent(view.telemetry)) if view.telemetry else ()
        live = self._edges if self._target.what_if else edges(view)
        if (loads, live) != (self._loads, self._edges):
            self._loads, self._edges = loads, live
            self.relayout()

    def build(self, width: int) -> list[Content]:
        """The load, then the drawing with what moves over its links."""
        texts = self._loads or ("load of the machine: not measured yet",)
        loads = [line for text in texts for line in wrapped(Content.styled(text, "dim"), width, 2)]
        if self._failure:
            return [*loads, Content(), *wrapped(self._failure, width)]
        if self._drawing is None:
            return [*loads, Content(), Content.styled("looking at the machine ...", "dim")]
        lines = (Content(plain(line)) for line in self._drawing(width, self._edges.by_rank))
        return [*loads, Content(), *self._title(width), *lines, *self._legend(width)]

    @property
    def _devices(self) -> int:
        shared = self._target.shared
        return shared.count if shared else self._target.world

    def _silent(self, now: Telemetry) -> tuple[str, ...]:
        """What is said of GPUs that the driver tells nothing of."""
        told = {gpu.rank for gpu in now.gpus}
        ranks = [str(rank) for rank in range(self._devices) if rank not in told and self._target.device == "cuda"]
        if not ranks:
            return ()
        return (f"rank {', '.join(ranks)}: the driver tells nothing of the GPU; 'pkwb doctor' may say why",)

    def _legend(self, width: int) -> list[Content]:
        """Traffic of pairs, and what the figures at the ranks are."""
        told = [line for text in self._edges.legend for line in wrapped(Content.styled(text, "dim"), width)]
        return [*map(Content, pair_lines(self._edges.pairs, width)), *told]

    def _title(self, width: int) -> list[Content]:
        """The name of a system that is not this machine, and whether ranks share what is drawn."""
        what_if, shared = self._target.what_if, self._target.not_timed
        if what_if is None:
            return [*wrapped(f"{shared}: what links GPUs is not used", width), Content()] if shared else []
        return [*wrapped(f"what if: {what_if.name} ({what_if.source})", width), Content()]

    @work(group="topology", exclusive=True, exit_on_error=False)
    async def _look(self) -> None:
        try:
            what_if = self._target.what_if
            if what_if is not None:
                self._drawing = _drawn(what_if)
            else:
                self._drawing = await Aside().run(partial(self._detect, self._devices, self._target.device))
            self._failure = ""
        except Exception as error:
            self._failure = f"the topology could not be found out: {plain(str(error)) or type(error).__name__}"
        self.relayout()


def _drawing(world: int, device: str) -> Drawing:
    from workbench.topology.detect import detect

    return _drawn(detect(world, device))


def _drawn(topology: Topology) -> Drawing:
    from workbench.topology.draw import draw

    return lambda width, live: draw(topology, max(30, width), live=live)


def _loads(now: Telemetry) -> tuple[str, ...]:
    memory = f"{fmt.memory(now.memory_used_bytes)} of {fmt.memory(now.memory_total_bytes)}"
    return f"cpu {now.cpu_percent:.0f}%  load {now.load:.1f}  memory {memory}", *map(_gpu, now.gpus)


def _gpu(now: GpuLoad) -> str:
    """What is known of a rank's GPU; figures that the driver does not tell are left out."""
    figures = (
        "" if now.busy_percent is None else f"gpu {now.busy_percent:.0f}%",
        f"memory {fmt.memory(now.memory_used_bytes)} of {fmt.memory(now.memory_total_bytes)}",
        _clock(now),
        "" if now.power_watts is None else f"{now.power_watts:.0f} W",
    )
    return "  ".join((f"rank {now.rank}:", *filter(None, figures)))


def _clock(now: GpuLoad) -> str:
    """``1980 MHz``, and what holds it down, as the driver says."""
    rate = "" if now.clock_mhz is None else f"{now.clock_mhz:.0f} MHz"
    return f"{rate or 'clock'} held by {now.held_by}" if now.held_by else rate
