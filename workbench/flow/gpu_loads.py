"""Looks at the ranks' GPUs through NVML."""

from __future__ import annotations

from typing import Any

from workbench.errors import UsageError
from workbench.events import GpuLoad, PeerTraffic
from workbench.flow.traffic import Traffic
from workbench.topology.chosen import RankGpu, rank_gpus
from workbench.topology.nvml import active_links, answer, close_nvml, in_parts, link_counters, links_by_peer, open_nvml
from workbench.topology.throttle import held_by

MEMORY_STEP = 100_000_000
"""Bytes to which memory is rounded: what is shown, and no more goes over ssh."""
POWER_STEP = 5.0
"""Watts to which power is rounded: a GPU at rest wavers by less."""


class GpuLoads:
    """The load of the GPUs of ranks 0 to ``world`` - 1.

    A look waits for the driver, milliseconds a GPU, the first one longer: call it from a thread. Where NVML cannot be
    asked there are no figures.
    """

    def __init__(self, world: int) -> None:
        self._world = world
        self._nvml: Any = None
        self._gpus: list[RankGpu] = []
        self._linked: list[bool] = []
        self._peers: list[dict[int, tuple[int, ...]]] = []
        self._traffic = Traffic()

    def look(self) -> tuple[GpuLoad, ...]:
        """One figure of each kind and rank, without ranks whose GPU is lost; empty where none can be looked at."""
        nvml = self._nvml or self._open()
        if nvml is None:
            return ()
        loads = (answer(nvml, None, self._load, nvml, rank, gpu) for rank, gpu in enumerate(self._gpus))
        return tuple(load for load in loads if load is not None)

    def forget(self) -> None:
        """Let the next look begin a new stretch of link traffic."""
        self._traffic.forget()

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
            self._gpus = rank_gpus(self._nvml, self._world)
            whole = [not (gpu.instance or in_parts(self._nvml, gpu.card)) for gpu in self._gpus]
            self._linked = [one and bool(active_links(self._nvml, gpu.card)[0]) for one, gpu in zip(whole, self._gpus)]
            self._peers = [self._links_to_ranks(gpu) if one else {} for one, gpu in zip(self._linked, self._gpus)]
        except UsageError:
            self.close()
            self._world = 0
        except self._nvml.NVMLError:
            self.close()
        return self._nvml

    def _links_to_ranks(self, gpu: RankGpu) -> dict[int, tuple[int, ...]]:
        """A GPU's direct NVLinks by the rank at the other end."""
        ranks = {other.bus: rank for rank, other in enumerate(self._gpus)}
        found = links_by_peer(self._nvml, gpu.card)
        return {ranks[bus]: links for bus, links in found.items() if bus in ranks}

    def _load(self, nvml: Any, rank: int, gpu: RankGpu) -> GpuLoad:
        memory = nvml.nvmlDeviceGetMemoryInfo(gpu.handle)
        busy = answer(nvml, None, nvml.nvmlDeviceGetUtilizationRates, gpu.card)
        power = answer(nvml, None, nvml.nvmlDeviceGetPowerUsage, gpu.card)
        clock = answer(nvml, None, nvml.nvmlDeviceGetClockInfo, gpu.card, nvml.NVML_CLOCK_SM)
        counters = link_counters(nvml, gpu.card) if self._linked[rank] else None
        sent, received = self._traffic.rates((rank,), counters)
        return GpuLoad(
            rank=rank,
            busy_percent=None if busy is None else float(busy.gpu),
            memory_used_bytes=round(memory.used / MEMORY_STEP) * MEMORY_STEP,
            memory_total_bytes=int(memory.total),
            clock_mhz=None if clock is None else float(clock),
            power_watts=None if power is None else round(power / 1000 / POWER_STEP) * POWER_STEP,
            sent_gbps=sent,
            received_gbps=received,
            counters=self._traffic.worth((rank,), counters) if self._linked[rank] else "no links",
            peers=self._by_peer(nvml, rank, gpu),
            held_by=held_by(nvml, gpu.card),
        )

    def _by_peer(self, nvml: Any, rank: int, gpu: RankGpu) -> tuple[PeerTraffic, ...]:
        """Traffic on direct links, once it was seen."""
        found = []
        for peer, links in self._peers[rank].items():
            sent, received = self._traffic.rates((rank, peer), link_counters(nvml, gpu.card, links))
            if sent is not None and received is not None:
                found.append(PeerTraffic(rank=peer, sent_gbps=sent, received_gbps=received))
        return tuple(found)
