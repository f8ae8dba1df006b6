"""Kernels in C++ for CPU ranks, which reach each other's buffers in shared memory: the text of each kind."""

from __future__ import annotations

from collections.abc import Mapping

_SOURCE = '''\
CPP_SOURCE = r"""
#include <torch/extension.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
<kernel>"""


@functools.cache
def _extension() -> Any:
    """The compiled functions. The first call compiles them."""
    from torch.utils.cpp_extension import load_inline

    return load_inline("pkwb_<kind>_cpp_starter", CPP_SOURCE, functions=["<function>"], extra_cflags=["-O3"])


'''
_WIDE = """
// float64 is added up and scaled in float64, everything narrower in float32.
template <typename T> struct Wide { using type = float; };
template <> struct Wide<double> { using type = double; };
"""
_BARRIER = """
#include <sched.h>

// Waits until all ranks are here. A rank's signal pad has one slot for each sender; slots are zero between barriers.
static void barrier(const int64_t* signals, int64_t rank, int64_t world) {
  const auto change = [&](int64_t receiver, int64_t sender, int32_t from, int32_t to) {
    int32_t* slot = reinterpret_cast<int32_t*>(signals[receiver]) + world + sender;
    for (int32_t seen = from; !__atomic_compare_exchange_n(slot, &seen, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
         seen = from) {
      sched_yield();
    }
  };
  for (int64_t other = 0; other < world; ++other) change(other, rank, 0, 1);
  for (int64_t other = 0; other < world; ++other) change(rank, other, 1, 0);
}
"""
_BUFFER = '''\
def _buffer(tensor: torch.Tensor) -> Any:
    """A buffer as large as the tensor that every rank of this machine reaches, and a signal pad beside it.

    buffer.table holds the address at which this process sees each rank's buffer, buffer.signal_table that of each
    rank's signal pad. All ranks ask for the same sizes in the same order.
    """
    from utils import symmetric

    return symmetric.buffer((tensor.numel(),), tensor.dtype)


'''

_SUM_KERNEL = """
// out[i] = sum of rank r's i-th element over first <= r < last.
template <typename T>
static void sum(const int64_t* peers, int64_t first, int64_t last, T* out, int64_t count) {
  using W = typename Wide<T>::type;
  for (int64_t i = 0; i < count; ++i) {
    W total = 0;
    for (int64_t rank = first; rank < last; ++rank) total += static_cast<W>(reinterpret_cast<const T*>(peers[rank])[i]);
    out[i] = static_cast<T>(total);
  }
}

// peers and signals hold addresses; own is what this rank passes.
void sum_of_ranks(torch::Tensor own, torch::Tensor peers, torch::Tensor signals, int64_t rank, int64_t first,
                  int64_t last, torch::Tensor out) {
  TORCH_CHECK(!own.is_cuda() && own.is_contiguous(), "own must be a contiguous CPU tensor");
  TORCH_CHECK(!out.is_cuda() && out.is_contiguous(), "out must be a contiguous CPU tensor");
  const int64_t* addresses = peers.data_ptr<int64_t>();
  const int64_t* pads = signals.data_ptr<int64_t>();
  std::memcpy(reinterpret_cast<void*>(addresses[rank]), own.data_ptr(), own.numel() * own.element_size());
  barrier(pads, rank, peers.numel());  // every rank has written
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, out.scalar_type(), "sum_of_ranks", [&] {
    sum<scalar_t>(addresses, first, last, out.data_ptr<scalar_t>(), out.numel());
  });
  barrier(pads, rank, peers.numel());  // every rank has read: the next call may overwrite
}
"""
_SUM_CALL = '''\
def _sum_of_ranks(tensor: torch.Tensor, first: int, last: int) -> torch.Tensor:
    """The sum of what the ranks from first to last - 1 pass. All ranks call it together, with equal shapes."""
    tensor, buffer = tensor.contiguous(), _buffer(tensor)
    out = torch.empty_like(tensor)
    _extension().sum_of_ranks(tensor, buffer.table, buffer.signal_table, buffer.rank, first, last, out)
    return out
'''

_COPY_KERNEL = """
// Fills out with what a rank passes; own is what this rank passes. peers and signals hold addresses.
void copy_from(torch::Tensor own, torch::Tensor peers, torch::Tensor signals, int64_t rank, int64_t source,
               torch::Tensor out) {
  TORCH_CHECK(!own.is_cuda() && own.is_contiguous(), "own must be a contiguous CPU tensor");
  TORCH_CHECK(!out.is_cuda() && out.is_contiguous(), "out must be a contiguous CPU tensor");
  const int64_t* addresses = peers.data_ptr<int64_t>();
  const int64_t* pads = signals.data_ptr<int64_t>();
  const size_t bytes = out.numel() * out.element_size();
  std::memcpy(reinterpret_cast<void*>(addresses[rank]), own.data_ptr(), bytes);
  barrier(pads, rank, peers.numel());  // every rank has written
  std::memcpy(out.data_ptr(), reinterpret_cast<const void*>(addresses[source]), bytes);
  barrier(pads, rank, peers.numel());  // every rank has read: the next call may overwrite
}
"""
_COPY_CALL = '''\
def _from_rank(tensor: torch.Tensor, rank: int) -> torch.Tensor:
    """What a rank passes. All ranks call it together, with equal shapes; each may ask for another rank."""
    tensor, buffer = tensor.contiguous(), _buffer(tensor)
    out = torch.empty_like(tensor)
    _extension().copy_from(tensor, buffer.table, buffer.signal_table, buffer.rank, rank, out)
    return out
'''

_TILE_KERNEL = """
template <typename T>
static void scale_all(const T* tensor, double factor, T* out, int64_t count) {
  using W = typename Wide<T>::type;
  for (int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(static_cast<W>(tensor[i]) * static_cast<W>(factor));
}

void scale(torch::Tensor tensor, double factor, torch::Tensor out) {
  TORCH_CHECK(!tensor.is_cuda() && tensor.is_contiguous(), "tensor must be a contiguous CPU tensor");
  TORCH_CHECK(!out.is_cuda() && out.is_contiguous(), "out must be a contiguous CPU tensor");
  TORCH_CHECK(out.numel() == tensor.numel() && out.scalar_type() == tensor.scalar_type(), "out must be like tensor");
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, out.scalar_type(), "scale", [&] {
    scale_all<scalar_t>(tensor.data_ptr<scalar_t>(), factor, out.data_ptr<scalar_t>(), out.numel());
  });
}
"""
_TILE_CALL = '''\
def _scaled(tensor: torch.Tensor, factor: float) -> torch.Tensor:
    """This rank's elements times a factor."""
    tensor = tensor.contiguous()
    out = torch.empty_like(tensor)
    _extension().scale(tensor, factor, out)
    return out
'''


def _text(kind: str, function: str, kernel: str, call: str) -> str:
    return _SOURCE.replace("<kernel>", kernel).replace("<kind>", kind).replace("<function>", function) + call


TEXTS: Mapping[str, str] = {
    "sum": _text("sum", "sum_of_ranks", _BARRIER + _WIDE + _SUM_KERNEL, _BUFFER + _SUM_CALL),
    "copy": _text("copy", "copy_from", _BARRIER + _COPY_KERNEL, _BUFFER + _COPY_CALL),
    "tile": _text("tile", "scale", _WIDE + _TILE_KERNEL, _TILE_CALL),
}
"""Python text by kind."""
