"""Tensors that all ranks' kernels reach, and barriers, for candidates written with ThunderKittens.

``TKParallelTensor`` is ThunderKittens' own class where THUNDERKITTENS_ROOT names a checkout: it is compiled at its
first use, and functions of other extensions that take ``kittens::py::TKParallelTensor&`` accept it. Elsewhere it is
:class:`SymmetricTensor`, for kernels that take addresses. Making either is slow and a step that all ranks take
together, so each is made once and kept.

NVLink multicast is used only where the environment and the GPU allow it. Elsewhere no multicast object is created, and
kernels go through ``raw_ptrs_``, peer to peer: parallel layouts are declared without multicast then.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from . import symmetric
from .cuda_helpers import compile_cuda_extension

ROOT = "THUNDERKITTENS_ROOT"
"""Variable that names a checkout of ThunderKittens."""
_MAX_DIMS = 4
_HOPPER = (9, 0)
_SOURCE = """
#include "kittens.cuh"
#include "pyutils/torchutils.cuh"
#include <torch/csrc/utils/pybind.h>

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { BIND_TK_PARALLEL_TENSOR(m); }
"""


class SymmetricTensor:
    """The part of ThunderKittens' parallel tensor that needs no ThunderKittens, over PyTorch's symmetric memory."""

    def __init__(
        self, shape: Sequence[int], dtype: torch.dtype, local_rank: int, local_world_size: int, multicast: bool = False
    ) -> None:
        """All ranks take this step together. The name in the cache is unique: every instance has memory of its own."""
        _check_shape(shape)
        held = symmetric.buffer(shape, dtype, name=f"parallel tensor {id(self)}")
        if (held.rank, held.world) != (local_rank, local_world_size):
            raise ValueError(f"this is rank {held.rank} of {held.world}, not {local_rank} of {local_world_size}")
        self.held = held
        """The buffer, with ``peers``, ``table``, signal pads and ``barrier``."""
        self.data_ = held.tensor
        self.shape_, self.dtype_ = tuple(shape), dtype
        self.raw_ptrs_ = held.addresses
        self.local_rank_, self.local_world_size_ = local_rank, local_world_size
        self.multicast_ptr_ = held.multicast if multicast else 0
        self.multicast_ = self.multicast_ptr_ != 0

    def data(self) -> torch.Tensor:
        """This rank's own tensor."""
        return self.data_


def get_or_create_parallel_tensor(
    shape: Sequence[int],
    dtype: torch.dtype,
    multicast: bool = True,
    *,
    name: str = "",
    extension: Any = None,
) -> Any:
    """The parallel tensor of this shape, dtype and name: made at the first call, the same one later.

    All ranks ask for the same tensors in the same order. ``multicast`` is a wish: see :func:`multicast_supported`. With
    ``extension``, a module that binds ThunderKittens' class itself, the tensor is of that module's class. Raises
    RuntimeError where there is no GPU or no process group, ValueError for a shape that ThunderKittens does not take.
    """
    _check_place()
    _check_shape(shape)
    kind = extension.TKParallelTensor if extension is not None else _native()
    return _kept(kind, tuple(shape), dtype, multicast and multicast_supported(), name)


def get_or_create_barrier(
    shape: Sequence[int] = (1, 1), multicast: bool = True, *, name: str = "barrier", extension: Any = None
) -> Any:
    """A parallel tensor of int32 counters that are zero on every rank when this returns for the first time."""
    return get_or_create_parallel_tensor(shape, torch.int32, multicast, name=name, extension=extension)


def multicast_supported() -> bool:
    """Whether kernels may use NVLink multicast: the environment does not switch it off, and the GPU has it."""
    if not (symmetric.multicast_allowed() and torch.cuda.is_available()):
        return False
    from torch._C._autograd import DeviceType
    from torch._C._distributed_c10d import _SymmetricMemory

    return _SymmetricMemory.has_multicast_support(DeviceType.CUDA, torch.cuda.current_device())


def include_paths() -> list[str]:
    """The folders for ``extra_include_paths``. Raises RuntimeError where no checkout of ThunderKittens is named."""
    root = os.environ.get(ROOT)
    if not root or not Path(root, "include", "kittens.cuh").exists():
        raise RuntimeError(f"set {ROOT} to a checkout of ThunderKittens (the folder that holds include/kittens.cuh)")
    return [str(Path(root, "include")), str(Path(root, "prototype"))]


def cuda_flags() -> list[str]:
    """What ThunderKittens needs of nvcc on this GPU, for ``extra_cuda_cflags``."""
    major, minor = torch.cuda.get_device_capability() if torch.cuda.is_available() else _HOPPER
    flags = ["-std=c++20", "--expt-extended-lambda", "--expt-relaxed-constexpr", "--use_fast_math", "-DKITTENS_HOPPER"]
    blackwell = ["-DKITTENS_BLACKWELL"] if major >= 10 else []
    return [*flags, *blackwell, f"-gencode=arch=compute_{major}{minor}a,code=sm_{major}{minor}a"]


def __getattr__(name: str) -> Any:
    if name == "TKParallelTensor":
        return _native()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.cache
def _native() -> Any:
    """ThunderKittens' class where there is a checkout, else the one above."""
    if not os.environ.get(ROOT):
        return SymmetricTensor
    built = compile_cuda_extension("pkwb_parallel_tensor", _SOURCE, cuda_flags(), include_paths(), ["-lcuda", "-lrt"])
    return built.TKParallelTensor


@functools.cache
def _kept(kind: Any, shape: tuple[int, ...], dtype: torch.dtype, multicast: bool, _name: str) -> Any:
    tensor = kind(shape, dtype, dist.get_rank(), dist.get_world_size(), multicast)
    data = tensor.data_ if hasattr(tensor, "data_") else tensor.data()
    data.zero_()
    torch.cuda.synchronize()
    dist.barrier()
    return tensor


def _check_place() -> None:
    if not torch.cuda.is_available():
        raise RuntimeError("parallel tensors need NVIDIA GPUs, and this rank runs on the CPU: use --device cuda")
    if not dist.is_initialized():
        raise RuntimeError("there is no process group: call torch.distributed.init_process_group first")


def _check_shape(shape: Sequence[int]) -> None:
    if not 1 <= len(shape) <= _MAX_DIMS or min(shape) < 1:
        raise ValueError(f"a parallel tensor has 1 to {_MAX_DIMS} dimensions of 1 or more; got {tuple(shape)}")
