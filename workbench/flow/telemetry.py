"""Looks at the machine between samples: processor, memory, load, and the ranks' GPUs."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path

from workbench.aside import Aside
from workbench.events import EventStream, GpuLoad, Notice, Telemetry
from workbench.flow.gpu_loads import MEMORY_STEP, GpuLoads

Ticks = tuple[int, int]

_SILENT = "the GPUs' driver does not answer: no figures of the GPUs are shown (nvidia-smi may hang, too)"


class TelemetrySampler:
    """Emits :class:`Telemetry` at most ``hz`` times a second, and only when a value that is shown has changed.

    It runs in the caller's event loop; GPUs are asked in a thread. ``pause`` while calls are timed: a look costs some
    0.1 ms of one core, and one at GPUs that is under way then ends before warm-up does and is dropped. Where the
    kernel offers no /proc (macOS), nothing is emitted.
    """

    def __init__(
        self, stream: EventStream, hz: float, proc: Path = Path("/proc"), gpus: GpuLoads | None = None
    ) -> None:
        self._stream = stream
        self._hz = hz
        self._proc = proc
        self._gpus = gpus
        self._aside = Aside()
        self._told = False
        self._stretch = 0
        """Counts pauses: what was asked before one is not shown after it."""
        self._timer: asyncio.TimerHandle | None = None
        self._asking: asyncio.Task[None] | None = None
        self._ticks: Ticks | None = None
        self._shown: Telemetry | None = None
        self._started = False

    def start(self) -> None:
        """Begin, from inside a running event loop; the first event comes after one interval. ``hz`` 0: never."""
        self._started = True
        self.resume()

    def stop(self) -> None:
        """End; may be called at any time."""
        self.pause()
        self._started = False
        if self._asking is not None:
            self._asking.cancel()
        if self._gpus is not None:
            self._aside.leave(self._gpus.close)

    def pause(self) -> None:
        """Look no more until ``resume``."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._stretch += 1

    def resume(self) -> None:
        """Look again; time spent paused counts neither into the processor's share nor into the links' rates."""
        if self._started and self._timer is None and self._hz > 0:
            self._ticks = _cpu_ticks(self._proc)
            if self._gpus is not None:
                self._gpus.forget()
            self._wait()

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(1 / self._hz, self._look)

    def _look(self) -> None:
        self._wait()
        if self._gpus is None or (self._told and self._aside.busy):
            self._show(())
        elif self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask(self._gpus))

    async def _ask(self, gpus: GpuLoads) -> None:
        stretch = self._stretch
        loads: tuple[GpuLoad, ...] = ()
        try:
            loads = await self._aside.run(gpus.look)
        except TimeoutError:
            self._tell_silence()
        if stretch == self._stretch:
            self._show(loads)

    def _tell_silence(self) -> None:
        if not self._told:
            self._told = True
            self._stream.emit(Notice(severity="warning", text=_SILENT))

    def _show(self, gpus: tuple[GpuLoad, ...]) -> None:
        before, self._ticks = self._ticks, _cpu_ticks(self._proc)
        memory = _memory(self._proc)
        if before is None or self._ticks is None or memory is None:
            return
        used, total = memory
        now = Telemetry(
            cpu_percent=_percent(before, self._ticks),
            memory_used_bytes=used,
            memory_total_bytes=total,
            load=_load(self._proc),
            gpus=gpus,
        )
        if self._shown is None or dataclasses.replace(now, time=self._shown.time) != self._shown:
            self._shown = now
            self._stream.emit(now)


def _percent(before: Ticks, after: Ticks) -> float:
    """Busy share of all cores in whole percent, from two looks at /proc/stat (proc_stat(5))."""
    busy, total = after[0] - before[0], after[1] - before[1]
    return float(round(100 * min(max(busy / total, 0.0), 1.0))) if total > 0 else 0.0


def _cpu_ticks(proc: Path) -> Ticks | None:
    """Busy and total ticks since the start of the machine; waiting for a disk counts as idle (proc_stat(5))."""
    try:
        with (proc / "stat").open() as file:
            ticks = [int(field) for field in file.readline().split()[1:9]]
        return sum(ticks) - ticks[3] - ticks[4], sum(ticks)
    except (OSError, ValueError, IndexError):
        return None


def _memory(proc: Path) -> tuple[int, int] | None:
    """Used and total bytes; used is what new programs could not get: MemTotal - MemAvailable (proc_meminfo(5))."""
    try:
        lines = (proc / "meminfo").read_text().splitlines()
        kibibytes = {name: int(rest.split()[0]) for name, rest in (line.split(":") for line in lines)}
        total, free = kibibytes["MemTotal"] * 1024, kibibytes["MemAvailable"] * 1024
    except (OSError, ValueError, LookupError):
        return None
    return round((total - free) / MEMORY_STEP) * MEMORY_STEP, total


def _load(proc: Path) -> float:
    """Load average over one minute, to one decimal (proc_loadavg(5))."""
    try:
        return round(float((proc / "loadavg").read_text().split()[0]), 1)
    except (OSError, ValueError, IndexError):
        return 0.0
