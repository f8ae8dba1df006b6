"""The device of a rank behind one small interface: where tensors live, how calls are synchronised and clocked.

Another device is another class in ``DEVICES``; nothing else in the ranks knows which one it runs on.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import os
import time
from functools import partial
from typing import Protocol

import torch
import torch.distributed as dist

from workbench.ranks.flush import cpu_flush, cuda_flush

_clock = time.perf_counter_ns
_synchronize = torch.cuda.synchronize
_GROUP_TIMEOUT_S = 24 * 3600
_IDLE_SYNC_NS = 50_000
"""A device-wide synchronisation that finds nothing to wait for takes less than this."""
_CLOCK_RATE = 13
"""CU_DEVICE_ATTRIBUTE_CLOCK_RATE (cuda.h): the peak clock in kHz."""


class Device(Protocol):
    """What a rank needs from its device."""

    name: str
    """``cpu`` or ``cuda``."""
    backend: str
    """The torch.distributed backend."""
    tensor_device: torch.device

    def set_up(self, gpu: int, threads: int) -> None:
        """Take the device before anything else touches it."""

    def synchronize(self) -> None:
        """Wait until all work of this rank is done."""

    def flush(self) -> bool:
        """Fill the caches with other data; False where there is no memory for it."""

    def start(self) -> None:
        """Mark the start of a timed call."""

    def end(self) -> None:
        """Mark its end, behind all that it queued."""

    def elapsed(self) -> int:
        """Wait until all work of the call is done; ns between the marks."""

    def most_mhz(self) -> int:
        """The highest clock of the multiprocessors; 0 where there are none or it is not known."""


class CpuDevice:
    """CPU ranks on gloo, timed by the monotonic clock."""

    name = "cpu"
    backend = "gloo"
    tensor_device = torch.device("cpu")

    def set_up(self, gpu: int, threads: int) -> None:
        """Limit torch's threads, so that ranks share the cores fairly; Triton kernels run under its interpreter."""
        torch.set_num_threads(max(1, threads))
        os.environ.setdefault("OMP_NUM_THREADS", str(max(1, threads)))
        os.environ.setdefault("TRITON_INTERPRET", "1")
        self.flush = cpu_flush()

    def synchronize(self) -> None:
        """CPU calls are synchronous."""

    def start(self) -> None:
        """Read the monotonic clock."""
        self._started = _clock()

    def end(self) -> None:
        """Read it again."""
        self._ended = _clock()

    def elapsed(self) -> int:
        """ns between the two."""
        return self._ended - self._started

    def most_mhz(self) -> int:
        """Cores have no multiprocessors."""
        return 0


class CudaDevice:
    """One GPU a rank on NCCL, timed by device events on the current stream."""

    name = "cuda"
    backend = "nccl"

    def set_up(self, gpu: int, threads: int) -> None:
        """Make GPU ``gpu`` the current one before anything can touch another."""
        torch.set_num_threads(max(1, threads))
        torch.cuda.set_device(gpu)
        self.tensor_device = torch.device("cuda", gpu)
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        self._record_begin, self._record_end = begin.record, end.record
        self._wait_for_end, self._between_ms = end.synchronize, partial(begin.elapsed_time, end)
        self.flush = cuda_flush(self.tensor_device)

    def synchronize(self) -> None:
        """Wait for all streams of the GPU."""
        _synchronize()

    def start(self) -> None:
        """Record the first event."""
        self._record_begin()

    def end(self) -> None:
        """Record the second event."""
        self._record_end()

    def elapsed(self) -> int:
        """ns between the events; work on other streams that outlasts the current one is added by the host's clock."""
        self._wait_for_end()
        ended = _clock()
        _synchronize()
        outlasting = _clock() - ended
        return round(float(self._between_ms()) * 1e6) + (outlasting if outlasting > _IDLE_SYNC_NS else 0)

    def most_mhz(self) -> int:
        """As the driver has it."""
        khz = ctypes.c_int()
        with contextlib.suppress(OSError):
            ctypes.CDLL("libcuda.so.1").cuDeviceGetAttribute(ctypes.byref(khz), _CLOCK_RATE, self.tensor_device.index)
        return khz.value // 1000


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
