#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <torch/extension.h>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

// A block a row: mean over ranks, rounded as a tensor of its type would be, then the norm.
template <typename T>
__global__ void mean_and_norm(const T* const* peers, int world, int64_t offset, const T* gamma, float eps, T* out,
                              int hidden) {
  extern __shared__ float row[];
  __shared__ float parts[32];
  auto block = cg::this_thread_block();
  auto warp = cg::tiled_partition<32>(block);
  const int64_t start = int64_t(blockIdx.x) * hidden;
  float squares = 0.f;
  for (int i = block.thread_rank(); i < hidden; i += block.size()) {
    float total = 0.f;
    for (int rank = 0; rank < world; ++rank) total += static_cast<float>(peers[rank][offset + start + i]);
    const float mean = static_cast<float>(static_cast<T>(total / world));
    row[i] = mean;
    squares += mean * mean;
  }
  squares = cg::reduce(warp, squares, cg::plus<float>());
  if (warp.thread_rank() == 0) parts[warp.meta_group_rank()] = squares;
  block.sync();
  float whole = 0.f;
  for (unsigned w = 0; w < warp.meta_group_size(); ++w) whole += parts[w];
  const float scale = rsqrtf(whole / hidden + eps);
  for (int i = block.thread_rank(); i < hidden; i += block.size()) {
    out[start + i] = static_cast<T>(row[i] * scale * static_cast<float>(gamma[i]));
  }
}

torch::Tensor mean_norm(int64_t peers, int64_t rank, int64_t world, int64_t chunk, torch::Tensor gamma, double eps) {
  const int64_t hidden = gamma.numel();
  TORCH_CHECK_VALUE(chunk % hidden == 0, "a chunk of ", chunk, " elements does not make rows of ", hidden);
  auto out = torch::empty({chunk / hidden, hidden}, gamma.options());
  const size_t shared = hidden * sizeof(float);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, gamma.scalar_type(), "mean_norm", [&] {
    C10_CUDA_CHECK(cudaFuncSetAttribute(mean_and_norm<scalar_t>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    mean_and_norm<scalar_t><<<chunk / hidden, 256, shared, at::cuda::getCurrentCUDAStream()>>>(
        reinterpret_cast<const scalar_t* const*>(peers), world, rank * chunk, gamma.data_ptr<scalar_t>(), eps,
        out.data_ptr<scalar_t>(), hidden);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("mean_norm", &mean_norm); }
