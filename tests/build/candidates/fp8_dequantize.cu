#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_fp8.h>

// Codes and scales of this rank's chunk are read from rank blockIdx.y.
template <typename Code, typename Scale>
__global__ void dequantize(const int64_t* code_peers, const int64_t* scale_peers, int rank, int64_t chunk, int size,
                           float* out) {
  const auto* codes = reinterpret_cast<const Code*>(code_peers[blockIdx.y]) + rank * chunk;
  const auto* scales = reinterpret_cast<const Scale*>(scale_peers[blockIdx.y]) + rank * chunk / size;
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < chunk) out[blockIdx.y * chunk + i] = static_cast<float>(codes[i]) * static_cast<float>(scales[i / size]);
}

template <typename Code, typename Scale>
void launch(int64_t codes, int64_t scales, int rank, int64_t world, int64_t chunk, int size, torch::Tensor out) {
  const dim3 grid(static_cast<unsigned>((chunk + 255) / 256), static_cast<unsigned>(world));
  dequantize<Code, Scale><<<grid, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
      reinterpret_cast<const int64_t*>(codes), reinterpret_cast<const int64_t*>(scales), rank, chunk, size,
      out.data_ptr<float>());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

torch::Tensor dequantize_chunks(int64_t codes, int64_t scales, int rank, torch::Tensor like, int block_size) {
  auto out = torch::empty(like.sizes(), torch::TensorOptions().dtype(torch::kFloat32).device(like.device()));
  const int64_t world = like.size(0), chunk = like.numel() / world;
  const auto type = like.scalar_type();
  if (like.element_size() == 1) {
    launch<__nv_fp8_e4m3, float>(codes, scales, rank, world, chunk, block_size, out);
  } else if (type == torch::kBFloat16) {
    launch<at::BFloat16, at::BFloat16>(codes, scales, rank, world, chunk, block_size, out);
  } else if (type == torch::kHalf) {
    launch<at::Half, at::Half>(codes, scales, rank, world, chunk, block_size, out);
  } else {
    TORCH_CHECK(type == torch::kFloat, "codes of this type are not known");
    launch<float, float>(codes, scales, rank, world, chunk, block_size, out);
  }
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("dequantize_chunks", &dequantize_chunks); }
