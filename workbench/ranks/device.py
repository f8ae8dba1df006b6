"""The device of a rank behind one small interface: where tensors live, how calls are synchronised and clocked.

Another device is another class in ``DEVICES``; nothing else in the ranks knows which one it runs on.
"""

from __future__ import annotations

import datetime
import os
import time
from typing import Protocol

import torch
import torch.distributed as dist

_clock = time.perf_counter_ns
_GROUP_TIMEOUT_S = 24 * 3600
_SPIN_CYCLES = 400_000
"""About 0.2 ms at 2 GHz."""
_IDLE_SYNC_NS = 50_000
"""A device-wide synchronisation that finds nothing to wait for takes less than this."""


class Device(Protocol):
    """What a rank needs from its device."""

    name: str
    """``cpu`` or ``cuda``."""
    backend: str
    """The torch.distributed backend."""
    tensor_device: torch.device

    def set_up(self, rank: int, threads: int) -> None:
        """Take the device before anything else touches it."""

    def synchronize(self) -> None:
        """Wait until all work of this rank is done."""

    def start(self) -> int:
        """Mark the start of a timed call; a monotonic time in ns, comparable between ranks of one host."""

    def stop(self, started: int) -> int:
        """ns from ``started`` until all work of the call is done."""


class CpuDevice:
    """CPU ranks on gloo, timed by the monotonic clock."""

    name = "cpu"
    backend = "gloo"
    tensor_device = torch.device("cpu")

    def set_up(self, rank: int, threads: int) -> None:
        """Limit torch's threads, so that ranks share the cores fairly."""
        torch.set_num_threads(max(1, threads))
        os.environ.setdefault("OMP_NUM_THREADS", str(max(1, threads)))

    def synchronize(self) -> None:
        """CPU calls are synchronous."""

    def start(self) -> int:
        """The monotonic clock, in ns."""
        return _clock()

    def stop(self, started: int) -> int:
        """ns since ``started``."""
        return _clock() - started


class CudaDevice:
    """One GPU a rank on NCCL, timed by device events on the current stream."""

    name = "cuda"
    backend = "nccl"

    def set_up(self, rank: int, threads: int) -> None:
        """Make GPU ``rank`` the current one before anything can touch another."""
        torch.set_num_threads(max(1, threads))
        torch.cuda.set_device(rank)
        self.tensor_device = torch.device("cuda", rank)
        self._begin, self._end = (torch.cuda.Event(enable_timing=True) for _ in range(2))

    def synchronize(self) -> None:
        """Wait for all streams of the GPU."""
        torch.cuda.synchronize()

    def start(self) -> int:
        """Record the first event behind a short spin, so that launches queue up and their gaps do not count."""
        torch.cuda._sleep(_SPIN_CYCLES)
        self._begin.record()
        return _clock()

    def stop(self, started: int) -> int:
        """ns between the events; work on other streams that outlasts the current one is added by the host's clock."""
        self._end.record()
        self._end.synchronize()
        ended = _clock()
        torch.cuda.synchronize()
        outlasting = _clock() - ended
        return int(self._begin.elapsed_time(self._end) * 1e6) + (outlasting if outlasting > _IDLE_SYNC_NS else 0)


DEVICES: dict[str, type[Device]] = {"cpu": CpuDevice, "cuda": CudaDevice}


def make_device(name: str) -> Device:
    """The device of that name."""
    return DEVICES[name]()


def init_group(device: Device, rank: int, world: int, store_path: str) -> None:
    """Join the default process group through a store in a file: no port is opened for the rendezvous."""
    dist.init_process_group(
        device.backend,
        store=torch.distributed.FileStore(store_path, world),  # type: ignore[attr-defined]
        rank=rank,
        world_size=world,
        timeout=datetime.timedelta(seconds=_GROUP_TIMEOUT_S),
        device_id=device.tensor_device if device.name == "cuda" else None,
    )
