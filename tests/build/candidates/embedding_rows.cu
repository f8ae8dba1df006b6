#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

// A warp a row: the owner's memory is read where it is, 16 bytes at a time where rows allow it.
template <typename Word>
__global__ void look_up(const int64_t* order, const int64_t* peers, int64_t height, int64_t words, int64_t rows,
                        Word* out) {
  const int64_t row = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (row >= rows) return;
  const int64_t index = order[row];
  const Word* from = reinterpret_cast<const Word*>(peers[index / height]) + (index % height) * words;
  for (int64_t i = threadIdx.x % 32; i < words; i += 32) out[row * words + i] = from[i];
}

template <typename Word>
void launch(torch::Tensor order, int64_t peers, int64_t height, torch::Tensor out, int64_t row_bytes) {
  const int64_t rows = out.size(0);
  look_up<Word><<<(rows + 7) / 8, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
      order.data_ptr<int64_t>(), reinterpret_cast<const int64_t*>(peers), height, row_bytes / sizeof(Word), rows,
      reinterpret_cast<Word*>(out.data_ptr()));
}

void rows_of(torch::Tensor order, int64_t peers, int64_t height, torch::Tensor out) {
  TORCH_CHECK(order.dim() == 1 && order.dtype() == torch::kLong, "order must be a vector of int64");
  TORCH_CHECK(out.dim() == 2 && out.size(0) == order.size(0), "out must have a row for each index");
  if (out.numel() == 0) return;
  const int64_t row_bytes = out.size(1) * out.element_size();
  if (row_bytes % sizeof(uint4) == 0) launch<uint4>(order, peers, height, out, row_bytes);
  else launch<uint8_t>(order, peers, height, out, row_bytes);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("rows_of", &rows_of); }
