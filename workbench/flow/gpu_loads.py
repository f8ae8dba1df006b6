"""Looks at the ranks' GPUs through NVML."""

from __future__ import annotations

from typing import Any

from workbench.errors import UsageError
from workbench.events import GpuLoad
from workbench.topology.nvml import Counters, answer, chosen_gpus, close_nvml, handle_of, link_counters, open_nvml

MEMORY_STEP = 100_000_000
"""Bytes to which memory is rounded: what is shown, and no more goes over ssh."""
POWER_STEP = 5.0
"""Watts to which power is rounded: a GPU at rest wavers by less."""

Rates = tuple[float | None, float | None]


class GpuLoads:
    """The load of the GPUs of ranks 0 to ``world`` - 1.

    A look waits for the driver, milliseconds a GPU, the first one longer: call it from a thread. Where NVML cannot be
    asked there are no figures.
    """

    def __init__(self, world: int) -> None:
        self._world = world
        self._nvml: Any = None
        self._handles: list[Any] = []
        self._before: dict[int, Counters] = {}
        self._moving: set[int] = set()

    def look(self) -> tuple[GpuLoad, ...]:
        """One figure of each kind and rank; empty where the GPUs cannot be looked at."""
        nvml = self._nvml or self._open()
        if nvml is None:
            return ()
        try:
            return tuple(self._load(nvml, rank, handle) for rank, handle in enumerate(self._handles))
        except nvml.NVMLError:
            return ()

    def forget(self) -> None:
        """Let the next look begin a new stretch of link traffic."""
        self._before.clear()

    def close(self) -> None:
        """Leave NVML."""
        if self._nvml is not None:
            close_nvml(self._nvml)
            self._nvml, self._world = None, 0

    def _open(self) -> Any:
        if not self._world:
            return None
        try:
            self._nvml = open_nvml("the GPUs cannot be looked at")
            self._handles = [handle_of(self._nvml, gpu) for gpu in chosen_gpus(self._world)]
        except UsageError:
            self._world = 0
        except self._nvml.NVMLError:
            self.close()
        return self._nvml

    def _load(self, nvml: Any, rank: int, handle: Any) -> GpuLoad:
        memory = nvml.nvmlDeviceGetMemoryInfo(handle)
        busy = answer(nvml, None, nvml.nvmlDeviceGetUtilizationRates, handle)
        power = answer(nvml, None, nvml.nvmlDeviceGetPowerUsage, handle)
        clock = answer(nvml, None, nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM)
        sent, received = self._rates(rank, link_counters(nvml, handle))
        return GpuLoad(
            rank=rank,
            busy_percent=None if busy is None else float(busy.gpu),
            memory_used_bytes=round(memory.used / MEMORY_STEP) * MEMORY_STEP,
            memory_total_bytes=int(memory.total),
            clock_mhz=None if clock is None else float(clock),
            power_watts=None if power is None else round(power / 1000 / POWER_STEP) * POWER_STEP,
            sent_gbps=sent,
            received_gbps=received,
        )

    def _rates(self, rank: int, now: Counters | None) -> Rates:
        """GB/s since the look before, to one decimal; None until the counters were once seen to move."""
        before = self._before.get(rank)
        if now is not None:
            self._before[rank] = now
        if now is None or before is None or now.at_us <= before.at_us:
            return None, None
        sent, received = now.sent - before.sent, now.received - before.received
        if sent > 0 or received > 0:
            self._moving.add(rank)
        if rank not in self._moving or min(sent, received) < 0:
            return None, None
        seconds = (now.at_us - before.at_us) / 1e6
        return round(sent / seconds / 1e9, 1), round(received / seconds / 1e9, 1)
