"""Kernels in CUDA C++ with ThunderKittens' headers and parallel tensors, peer to peer: the text of each kind."""

from __future__ import annotations

from collections.abc import Mapping

from problems.starters import cuda

_SOURCE = '''\
CUDA_SOURCE = r"""
#include "kittens.cuh"
#include "pyutils/torchutils.cuh"

#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <torch/extension.h>

#include <algorithm>

using kittens::py::TKParallelTensor;

constexpr int kThreads = 256;
constexpr int kMostRanks = 8;

static int blocks_for(int64_t count) {
  return static_cast<int>(std::min<int64_t>((count + kThreads - 1) / kThreads, 1024));
}
<kernel>"""


@functools.cache
def _extension() -> Any:
    """The compiled kernels. The first call compiles them; THUNDERKITTENS_ROOT names a checkout of ThunderKittens."""
    from utils import parallelkittens_runtime as runtime
    from utils.cuda_helpers import compile_cuda_extension

    name, flags, folders = "pkwb_<kind>_kittens_starter", runtime.cuda_flags(), runtime.include_paths()
    return compile_cuda_extension(name, CUDA_SOURCE, flags, folders, ["-lcuda", "-lrt"])


'''
_PEERS = """
// Each rank's part of a parallel tensor, as this GPU sees it. Built without multicast, so that it works on any machine;
// kittens::py::parallel_tensor_to_pgl makes a parallel layout of the same tensor, for kittens' tiles and TMA.
template <typename T> struct Peers { T* of[kMostRanks]; };

template <typename T>
static Peers<T> peers_of(const TKParallelTensor& tensor) {
  TORCH_CHECK(tensor.local_world_size_ <= kMostRanks, "more than ", kMostRanks, " ranks");
  Peers<T> peers{};
  for (int rank = 0; rank < tensor.local_world_size_; ++rank) peers.of[rank] = static_cast<T*>(tensor.raw_ptrs_[rank]);
  return peers;
}

// One thread for each other rank: sets its slot there, then waits for its own slot and clears it.
__global__ void barrier_kernel(Peers<int> slots, int rank) {
  const int other = threadIdx.x;
  __threadfence_system();
  while (atomicCAS_system(slots.of[other] + rank, 0, 1) != 0) {}
  while (atomicCAS_system(slots.of[rank] + other, 1, 0) != 1) {}
  __threadfence_system();
}

static void barrier_of_ranks(const TKParallelTensor& slots, cudaStream_t stream) {
  barrier_kernel<<<1, slots.local_world_size_, 0, stream>>>(peers_of<int>(slots), slots.local_rank_);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}
"""
_BUFFER = '''\
def _buffers(tensor: torch.Tensor) -> tuple[Any, Any]:
    """A parallel tensor as large as the tensor, and one slot a rank to wait on. All ranks ask in the same order."""
    from utils.parallelkittens_runtime import get_or_create_barrier, get_or_create_parallel_tensor

    buffer = get_or_create_parallel_tensor((tensor.numel(),), tensor.dtype, multicast=False)
    return buffer, get_or_create_barrier((1, 8), multicast=False)


'''

_SUM_KERNEL = """
// out[i] = sum of peers.of[r][i] over first <= r < last.
template <typename T>
__global__ void sum_of_ranks_kernel(Peers<T> peers, int first, int last, T* out, int64_t count) {
  using W = typename Wide<T>::type;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    W total = 0;
    for (int rank = first; rank < last; ++rank) total += static_cast<W>(peers.of[rank][i]);
    out[i] = static_cast<T>(total);
  }
}

void sum_of_ranks(torch::Tensor own, TKParallelTensor& buffer, TKParallelTensor& slots, int64_t first, int64_t last,
                  torch::Tensor out) {
  TORCH_CHECK(out.is_cuda() && out.is_contiguous(), "out must be a contiguous CUDA tensor");
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  buffer.data_.copy_(own.reshape({-1}));
  barrier_of_ranks(slots, stream);  // every rank has written
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, out.scalar_type(), "sum_of_ranks", [&] {
    sum_of_ranks_kernel<scalar_t><<<blocks_for(out.numel()), kThreads, 0, stream>>>(
        peers_of<scalar_t>(buffer), static_cast<int>(first), static_cast<int>(last), out.data_ptr<scalar_t>(),
        out.numel());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  barrier_of_ranks(slots, stream);  // every rank has read: the next call may overwrite
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("sum_of_ranks", &sum_of_ranks);
}
"""
_SUM_CALL = '''\
def _sum_of_ranks(tensor: torch.Tensor, first: int, last: int) -> torch.Tensor:
    """The sum of what the ranks from first to last - 1 pass. All ranks call it together, with equal shapes."""
    out = torch.empty_like(tensor, memory_format=torch.contiguous_format)
    if tensor.numel():
        _extension().sum_of_ranks(tensor, *_buffers(tensor), first, last, out)
    return out
'''

_COPY_KERNEL = """
// Fills out with what a rank passes; own is what this rank passes.
void copy_from(torch::Tensor own, TKParallelTensor& buffer, TKParallelTensor& slots, int64_t rank, torch::Tensor out) {
  TORCH_CHECK(out.is_cuda() && out.is_contiguous(), "out must be a contiguous CUDA tensor");
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  buffer.data_.copy_(own.reshape({-1}));
  barrier_of_ranks(slots, stream);  // every rank has written
  C10_CUDA_CHECK(cudaMemcpyAsync(out.data_ptr(), buffer.raw_ptrs_[rank], out.numel() * out.element_size(),
                                 cudaMemcpyDeviceToDevice, stream));
  barrier_of_ranks(slots, stream);  // every rank has read: the next call may overwrite
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("copy_from", &copy_from);
}
"""
_COPY_CALL = '''\
def _from_rank(tensor: torch.Tensor, rank: int) -> torch.Tensor:
    """What a rank passes. All ranks call it together, with equal shapes; each may ask for another rank."""
    out = torch.empty_like(tensor, memory_format=torch.contiguous_format)
    if tensor.numel():
        _extension().copy_from(tensor, *_buffers(tensor), rank, out)
    return out
'''


def _text(kind: str, kernel: str, call: str) -> str:
    return _SOURCE.replace("<kernel>", kernel).replace("<kind>", kind) + call


TEXTS: Mapping[str, str] = {
    "sum": _text("sum", cuda.WIDE + _PEERS + _SUM_KERNEL, _BUFFER + _SUM_CALL),
    "copy": _text("copy", _PEERS + _COPY_KERNEL, _BUFFER + _COPY_CALL),
    "tile": _text("tile", cuda.WIDE + cuda.TILE_KERNEL, cuda.TILE_CALL),
}
"""Python text by kind."""
