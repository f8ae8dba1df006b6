"""Buffers that every rank of a host reaches by address: symmetric memory on GPUs, shared memory between CPU ranks.

    mine = symmetric.buffer((1024,), torch.float32)
    mine.tensor.copy_(x)
    mine.barrier()                      # every rank has written
    theirs = mine.peers[other]          # another rank's buffer, in place
    mine.barrier()                      # every rank has read

Kernels take ``mine.addresses`` (or ``mine.table``, the same on the device). On GPUs PyTorch's symmetric memory holds
the buffers, on CPUs a file without a name that all ranks map: C++ and Triton's interpreter use the same addresses.
"""

from __future__ import annotations

import functools
import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

SIGNAL_BYTES = 4096
"""Size of a CPU rank's signal pad; a GPU's is PyTorch's, 2 KB or more."""
_PAGE = 4096
_MULTICAST_OFF = {"TORCH_SYMM_MEM_DISABLE_MULTICAST": "1", "NCCL_NVLS_ENABLE": "0", "NVSHMEM_DISABLE_NVLS": "1"}


@dataclass(frozen=True, eq=False)
class Buffer:
    """One buffer a rank, all of one shape; filled with zeros at first."""

    rank: int
    peers: tuple[torch.Tensor, ...]
    """Each rank's buffer. Writing to another's is seen there after a barrier."""
    addresses: tuple[int, ...]
    """Where this process, or its GPU, sees each rank's buffer."""
    signals: tuple[int, ...]
    """The same for each rank's signal pad: int32 numbers that are zero, and must be zero again after use. The slot
    ``channel * world + sender`` is PyTorch's convention; ``barrier`` uses those of its channel."""
    multicast: int
    """The address that reaches all ranks at once; 0 where NVLink multicast is off or missing, as on CPUs."""
    barrier: Callable[..., None]
    """``barrier(channel=0)``: wait until all ranks are here; on GPUs the current stream waits, the host does not."""

    @property
    def tensor(self) -> torch.Tensor:
        """This rank's own buffer."""
        return self.peers[self.rank]

    @property
    def world(self) -> int:
        """The number of ranks."""
        return len(self.peers)

    @functools.cached_property
    def table(self) -> torch.Tensor:
        """``addresses`` as int64 numbers on the device."""
        return torch.tensor(self.addresses, dtype=torch.int64, device=self.tensor.device)

    @functools.cached_property
    def signal_table(self) -> torch.Tensor:
        """``signals`` as int64 numbers on the device."""
        return torch.tensor(self.signals, dtype=torch.int64, device=self.tensor.device)


def buffer(
    shape: Sequence[int],
    dtype: torch.dtype = torch.float32,
    *,
    name: str = "",
    device: torch.device | str | None = None,
    group: dist.ProcessGroup | None = None,
) -> Buffer:
    """The buffer of this shape, dtype and name: made at the first call, the same one later.

    All ranks of the group (all ranks when None) ask for the same buffers in the same order. The device is the current
    GPU in a group on NCCL, else the CPU. Raises ValueError where ranks ask for different sizes.
    """
    group = group or dist.group.WORLD
    if group is None:
        raise ValueError("there is no process group: call torch.distributed.init_process_group first")
    place = torch.device(device) if device is not None else _device(group)
    return _made(tuple(shape), dtype, place, name, group)


def multicast_allowed() -> bool:
    """Whether the environment leaves NVLink multicast on: none of the three variables that switch it off does so."""
    return all(os.environ.get(variable) != off for variable, off in _MULTICAST_OFF.items())


@functools.cache
def _made(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device, _name: str, group: Any) -> Buffer:
    make = _on_gpus if device.type == "cuda" else _on_cpus
    return make(shape, dtype, device, group)


def _device(group: dist.ProcessGroup) -> torch.device:
    on_gpus = "nccl" in dist.get_backend(group)
    return torch.device("cuda", torch.cuda.current_device()) if on_gpus else torch.device("cpu")


def _on_gpus(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device, group: dist.ProcessGroup) -> Buffer:
    from torch._C._distributed_c10d import _SymmetricMemory
    from torch.distributed._symmetric_memory import rendezvous

    if not multicast_allowed():
        os.environ["TORCH_SYMM_MEM_DISABLE_MULTICAST"] = "1"
    count = max(1, math.prod(shape))
    # Not that module's `empty`: its pool may put several buffers into one allocation, with one set of signals.
    own = _SymmetricMemory.empty_strided_p2p((count,), (1,), dtype, device).zero_()
    handle = rendezvous(own, group)
    addresses = tuple(handle.buffer_ptrs)
    if addresses[handle.rank] != own.data_ptr():
        raise RuntimeError("utils.symmetric does not know this PyTorch's memory: use torch.distributed's own module")
    others = [own if r == handle.rank else handle.get_buffer(r, (count,), dtype) for r in range(handle.world_size)]
    peers = tuple(one[: math.prod(shape)].view(shape) for one in others)
    handle.barrier(channel=0)
    barrier = functools.partial(_handle_barrier, handle)
    return Buffer(handle.rank, peers, addresses, tuple(handle.signal_pad_ptrs), handle.multicast_ptr or 0, barrier)


def _handle_barrier(handle: Any, channel: int = 0) -> None:
    handle.barrier(channel=channel)


def _on_cpus(shape: tuple[int, ...], dtype: torch.dtype, _device: torch.device, group: dist.ProcessGroup) -> Buffer:
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    size = math.prod(shape) * dtype.itemsize
    part = SIGNAL_BYTES + -(-size // _PAGE) * _PAGE
    memory = _shared_bytes(part, group)
    parts = [memory[r * part : (r + 1) * part] for r in range(world)]
    peers = tuple(one[SIGNAL_BYTES : SIGNAL_BYTES + size].view(dtype).view(shape) for one in parts)
    signals = tuple(one.data_ptr() for one in parts)
    addresses = tuple(address + SIGNAL_BYTES for address in signals)
    return Buffer(rank, peers, addresses, signals, 0, functools.partial(_group_barrier, group))


def _group_barrier(group: dist.ProcessGroup, channel: int = 0) -> None:
    dist.barrier(group)


def _shared_bytes(part: int, group: dist.ProcessGroup) -> torch.Tensor:
    """Memory that all ranks of the group map, so many bytes for each. Its file has no name once all have it."""
    first, size = dist.get_rank(group) == 0, part * dist.get_world_size(group)
    told: list[Any] = [(_new_file(size), size) if first else None]
    dist.broadcast_object_list(told, dist.get_global_rank(group, 0), group)
    path, agreed = told[0]
    if size != agreed:
        raise ValueError(f"ranks ask for different buffers: {size} bytes here and {agreed} on the group's first rank")
    memory = torch.from_file(path, shared=True, size=size, dtype=torch.uint8)
    dist.barrier(group)
    if first:
        os.unlink(path)
    return memory


def _new_file(size: int) -> str:
    file, path = tempfile.mkstemp(prefix="symmetric-", dir=Path(os.environ.get("TMPDIR") or tempfile.gettempdir()))
    os.truncate(file, size)
    os.close(file)
    return path
