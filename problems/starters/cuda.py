"""Kernels in CUDA C++, bound with pybind11: the text of each kind."""

from __future__ import annotations

from collections.abc import Mapping

_SOURCE = '''\
CUDA_SOURCE = r"""
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <torch/extension.h>

#include <algorithm>

constexpr int kThreads = 256;

static int blocks_for(int64_t count) {
  return static_cast<int>(std::min<int64_t>((count + kThreads - 1) / kThreads, 1024));
}
<kernel>"""


@functools.cache
def _extension() -> Any:
    """The compiled kernels. The first call compiles them."""
    from utils.cuda_helpers import compile_cuda_extension

    return compile_cuda_extension("pkwb_<kind>_starter", CUDA_SOURCE)


'''
WIDE = """
// float64 is added up and scaled in float64, everything narrower in float32.
template <typename T> struct Wide { using type = float; };
template <> struct Wide<double> { using type = double; };
"""
_BUFFER = '''\
@functools.cache
def _buffer(count: int, dtype: torch.dtype, device: torch.device) -> tuple[torch.Tensor, Any, list[int], torch.Tensor]:
    """A buffer that all ranks can reach, its handle, and the addresses at which this device sees each rank's.

    All ranks ask for the same sizes in the same order. The last value is the table of addresses in device memory.
    NVLink multicast (handle.multicast_ptr) is not used.
    """
    import torch.distributed._symmetric_memory as symmetric_memory

    buffer = symmetric_memory.empty(count, dtype=dtype, device=device)
    handle = symmetric_memory.rendezvous(buffer, dist.group.WORLD)
    inside = buffer.data_ptr() - handle.buffer_ptrs[handle.rank]  # a buffer may lie inside a larger one
    addresses = [base + inside for base in handle.buffer_ptrs]
    return buffer, handle, addresses, torch.tensor(addresses, dtype=torch.int64, device=device)


'''

_SUM_KERNEL = """
// out[i] = sum of peers[r][i] over first <= r < last; peers[r] is rank r's buffer.
template <typename T>
__global__ void sum_of_ranks_kernel(const T* const* peers, int first, int last, T* out, int64_t count) {
  using W = typename Wide<T>::type;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    W total = 0;
    for (int rank = first; rank < last; ++rank) total += static_cast<W>(peers[rank][i]);
    out[i] = static_cast<T>(total);
  }
}

void sum_of_ranks(int64_t peers, int64_t first, int64_t last, torch::Tensor out) {
  TORCH_CHECK(out.is_cuda() && out.is_contiguous(), "out must be a contiguous CUDA tensor");
  const int64_t count = out.numel();
  if (count == 0) return;
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, out.scalar_type(), "sum_of_ranks", [&] {
    sum_of_ranks_kernel<scalar_t><<<blocks_for(count), kThreads, 0, stream>>>(
        reinterpret_cast<const scalar_t* const*>(peers), static_cast<int>(first), static_cast<int>(last),
        out.data_ptr<scalar_t>(), count);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("sum_of_ranks", &sum_of_ranks);
}
"""
_SUM_CALL = '''\
def _sum_of_ranks(tensor: torch.Tensor, first: int, last: int) -> torch.Tensor:
    """The sum of what the ranks from first to last - 1 pass. All ranks call it together, with equal shapes."""
    buffer, handle, _addresses, table = _buffer(tensor.numel(), tensor.dtype, tensor.device)
    buffer.copy_(tensor.reshape(-1))
    handle.barrier(channel=0)  # every rank has written
    out = torch.empty_like(tensor, memory_format=torch.contiguous_format)
    _extension().sum_of_ranks(table.data_ptr(), first, last, out)
    handle.barrier(channel=0)  # every rank has read: the next call may overwrite
    return out
'''

_COPY_KERNEL = """
template <typename Word>
__global__ void copy_kernel(const Word* source, Word* out, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    out[i] = source[i];
  }
}

template <typename Word>
static void launch_copy(int64_t source, void* out, int64_t bytes) {
  const int64_t count = bytes / static_cast<int64_t>(sizeof(Word));
  copy_kernel<Word><<<blocks_for(count), kThreads, 0, at::cuda::getCurrentCUDAStream()>>>(
      reinterpret_cast<const Word*>(source), static_cast<Word*>(out), count);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

// Fills out with the bytes at the address source, 16 at a time where addresses and size allow it.
void copy_from(int64_t source, torch::Tensor out) {
  TORCH_CHECK(out.is_cuda() && out.is_contiguous(), "out must be a contiguous CUDA tensor");
  const int64_t bytes = out.numel() * out.element_size();
  if (bytes == 0) return;
  const bool wide = ((source | reinterpret_cast<int64_t>(out.data_ptr()) | bytes) & 15) == 0;
  if (wide) launch_copy<uint4>(source, out.data_ptr(), bytes);
  else launch_copy<uint8_t>(source, out.data_ptr(), bytes);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("copy_from", &copy_from);
}
"""
_COPY_CALL = '''\
def _from_rank(tensor: torch.Tensor, rank: int) -> torch.Tensor:
    """What a rank passes. All ranks call it together, with equal shapes; each may ask for another rank."""
    buffer, handle, addresses, _table = _buffer(tensor.numel(), tensor.dtype, tensor.device)
    buffer.copy_(tensor.reshape(-1))
    handle.barrier(channel=0)  # every rank has written
    out = torch.empty_like(tensor, memory_format=torch.contiguous_format)
    _extension().copy_from(addresses[rank], out)
    handle.barrier(channel=0)  # every rank has read: the next call may overwrite
    return out
'''

TILE_KERNEL = """
template <typename T>
__global__ void scale_kernel(const T* tensor, double factor, T* out, int64_t count) {
  using W = typename Wide<T>::type;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    out[i] = static_cast<T>(static_cast<W>(tensor[i]) * static_cast<W>(factor));
  }
}

void scale(torch::Tensor tensor, double factor, torch::Tensor out) {
  TORCH_CHECK(tensor.is_cuda() && tensor.is_contiguous(), "tensor must be a contiguous CUDA tensor");
  TORCH_CHECK(out.is_cuda() && out.is_contiguous(), "out must be a contiguous CUDA tensor");
  TORCH_CHECK(out.numel() == tensor.numel() && out.scalar_type() == tensor.scalar_type(), "out must be like tensor");
  const int64_t count = out.numel();
  if (count == 0) return;
  const cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, out.scalar_type(), "scale", [&] {
    scale_kernel<scalar_t><<<blocks_for(count), kThreads, 0, stream>>>(
        tensor.data_ptr<scalar_t>(), factor, out.data_ptr<scalar_t>(), count);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("scale", &scale);
}
"""
TILE_CALL = '''\
def _scaled(tensor: torch.Tensor, factor: float) -> torch.Tensor:
    """This rank's elements times a factor."""
    tensor = tensor.contiguous()
    out = torch.empty_like(tensor)
    _extension().scale(tensor, factor, out)
    return out
'''


def _text(kind: str, kernel: str, call: str) -> str:
    return _SOURCE.replace("<kernel>", kernel).replace("<kind>", kind) + call


TEXTS: Mapping[str, str] = {
    "sum": _text("sum", WIDE + _SUM_KERNEL, _BUFFER + _SUM_CALL),
    "copy": _text("copy", _COPY_KERNEL, _BUFFER + _COPY_CALL),
    "tile": _text("tile", WIDE + TILE_KERNEL, TILE_CALL),
}
"""Python text by kind."""
