"""The machine between samples, and what is not about the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from workbench.events.base import Event

LinkCounters = Literal["no links", "absent", "zero", "still", "moving"]
"""What a driver's NVLink counters are worth: absent = it has none, zero = they read 0, as in many virtual machines,
still = they hold something and were not seen to move yet."""


@dataclass(frozen=True, kw_only=True)
class PeerTraffic:
    """What crossed the NVLinks between two ranks' GPUs since the look before, in GB/s, seen from one of them."""

    rank: int
    """The other rank."""
    sent_gbps: float
    received_gbps: float


@dataclass(frozen=True, kw_only=True)
class GpuLoad:
    """The GPU of one rank between samples; what the driver does not tell is None."""

    rank: int
    busy_percent: float | None
    """Share of the last moment, up to a second, in which a kernel ran."""
    memory_used_bytes: int
    memory_total_bytes: int
    clock_mhz: float | None
    """Clock of the multiprocessors."""
    power_watts: float | None
    sent_gbps: float | None = None
    """Over its NVLinks since the look before; None unless the driver's counters were seen to move."""
    received_gbps: float | None = None
    counters: LinkCounters = "absent"
    peers: tuple[PeerTraffic, ...] = ()
    """Part of the above by the rank at the other end, where links lead to GPUs and not to a switch."""
    held_by: str | None = None
    """What holds its clocks down, for example ``power, thermal``; empty for nothing, None = not told by the driver."""


@dataclass(frozen=True, kw_only=True)
class Telemetry(Event):
    """The machine between samples, at 1-2 Hz; replaces the one before. ``gpus`` are those of the ranks, by rank."""

    cpu_percent: float
    memory_used_bytes: int
    memory_total_bytes: int
    load: float
    gpus: tuple[GpuLoad, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Notice(Event):
    """Something the user should know that is not about the kernel: a store that failed, ranks that were restarted."""

    severity: Literal["information", "warning", "error"]
    text: str
