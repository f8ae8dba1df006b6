#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ inline float to_float(const c10::BFloat16& value) {
  return __bfloat162float(*reinterpret_cast<const __nv_bfloat16*>(&value));
}
__device__ inline float to_float(const c10::Half& value) {
  return __half2float(*reinterpret_cast<const __half*>(&value));
}
__device__ inline float to_float(float value) { return value; }

// A warp an output, written into every rank's buffer at once.
template <typename T>
__global__ void gemv(const T* x, const T* weight, const T* bias, T* const* peers, int rank, int world, int tokens,
                     int outputs, int hidden) {
  const int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  if (warp >= tokens * outputs) return;
  const int token = warp / outputs, output = warp % outputs;
  float total = 0.f;
  for (int i = lane; i < hidden; i += 32) {
    total += to_float(x[int64_t(token) * hidden + i]) * to_float(weight[int64_t(output) * hidden + i]);
  }
  for (int offset = 16; offset; offset >>= 1) total += __shfl_xor_sync(0xffffffff, total, offset);
  const T rounded = static_cast<T>(total);
  const T value = static_cast<T>(to_float(rounded) + to_float(bias[output]));
  const int64_t place = int64_t(token) * outputs * world + int64_t(rank) * outputs + output;
  if (lane < world) peers[lane][place] = value;
}

void push(torch::Tensor x, torch::Tensor weight, torch::Tensor bias, int64_t peers, int rank, int world) {
  const int tokens = x.numel() / x.size(-1), outputs = weight.size(0), hidden = weight.size(1);
  TORCH_CHECK(world <= 32, "at most 32 ranks");
  const int blocks = (tokens * outputs + 7) / 8;
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
#define RUN(T)                                                                                                     \
  gemv<T><<<blocks, 256, 0, stream>>>(x.data_ptr<T>(), weight.data_ptr<T>(), bias.data_ptr<T>(),                    \
                                      reinterpret_cast<T* const*>(peers), rank, world, tokens, outputs, hidden)
  if (x.dtype() == torch::kBFloat16) RUN(c10::BFloat16);
  else if (x.dtype() == torch::kFloat16) RUN(c10::Half);
  else if (x.dtype() == torch::kFloat32) RUN(float);
  else TORCH_CHECK(false, "unsupported dtype ", x.dtype());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("push", &push); }
