#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

template <typename T>
__global__ void encode(const T* x, int64_t count, int size, int8_t* codes, float* scales) {
  const int64_t block = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  const int64_t start = block * size;
  if (start >= count) return;
  float peak = 0.f;
  for (int i = lane; i < size; i += 32)
    if (start + i < count) peak = fmaxf(peak, fabsf(static_cast<float>(x[start + i])));
  for (int offset = 16; offset > 0; offset >>= 1) peak = fmaxf(peak, __shfl_xor_sync(~0u, peak, offset));
  const float scale = __fdiv_rn(fmaxf(peak, 1e-8f), 127.f);
  for (int i = lane; i < size; i += 32) {
    const float value = start + i < count ? static_cast<float>(x[start + i]) : 0.f;
    codes[start + i] = static_cast<int8_t>(fminf(fmaxf(rintf(__fdiv_rn(value, scale)), -127.f), 127.f));
  }
  if (lane == 0) scales[block] = scale;
}

template <typename T>
__global__ void mean_of_codes(const int64_t* codes, const int64_t* scales, int world, int size, T* out, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float total = 0.f;
  for (int rank = 0; rank < world; ++rank) {
    total += float(reinterpret_cast<const int8_t*>(codes[rank])[i]) *
             reinterpret_cast<const float*>(scales[rank])[i / size];
  }
  out[i] = static_cast<T>(total / world);
}

void encode_blocks(torch::Tensor x, int size, torch::Tensor codes, torch::Tensor scales) {
  TORCH_CHECK(codes.dtype() == torch::kInt8 && scales.dtype() == torch::kFloat32, "codes are int8, scales float32");
  const int64_t blocks = scales.numel();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "encode_blocks", [&] {
    encode<scalar_t><<<(blocks + 7) / 8, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), x.numel(), size, codes.data_ptr<int8_t>(), scales.data_ptr<float>());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

torch::Tensor mean(int64_t codes, int64_t scales, int world, int size, torch::Tensor like) {
  torch::Tensor out = torch::empty_like(like);
  const int64_t count = out.numel();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, out.scalar_type(), "mean", [&] {
    mean_of_codes<scalar_t><<<(count + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        reinterpret_cast<const int64_t*>(codes), reinterpret_cast<const int64_t*>(scales), world, size,
        out.data_ptr<scalar_t>(), count);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("encode_blocks", &encode_blocks);
  m.def("mean", &mean);
}
