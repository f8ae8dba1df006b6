#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/util/Float8_e4m3fn.h>

// A block of threads a block of elements.
template <typename T>
__global__ void quantize(const T* x, c10::Float8_e4m3fn* codes, float* scales, int size) {
  extern __shared__ float peaks[];
  const int64_t start = int64_t(blockIdx.x) * size;
  float peak = 0.f;
  for (int i = threadIdx.x; i < size; i += blockDim.x) peak = fmaxf(peak, fabsf(static_cast<float>(x[start + i])));
  peaks[threadIdx.x] = peak;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) peaks[threadIdx.x] = fmaxf(peaks[threadIdx.x], peaks[threadIdx.x + half]);
    __syncthreads();
  }
  const float scale = __fdiv_rn(peaks[0], 448.f);
  const float divisor = scale == 0.f ? 1.f : scale;
  for (int i = threadIdx.x; i < size; i += blockDim.x) {
    codes[start + i] = c10::Float8_e4m3fn(__fdiv_rn(static_cast<float>(x[start + i]), divisor));
  }
  if (threadIdx.x == 0) scales[blockIdx.x] = scale;
}

void quantize_blocks(torch::Tensor x, torch::Tensor codes, torch::Tensor scales, int64_t block_size) {
  TORCH_CHECK(codes.scalar_type() == at::ScalarType::Float8_e4m3fn, "codes must be float8_e4m3fn");
  TORCH_CHECK(x.size(-1) % block_size == 0, "blocks of ", block_size, " do not fill rows of ", x.size(-1));
  const unsigned blocks = static_cast<unsigned>(x.numel() / block_size);
  AT_DISPATCH_SWITCH(x.scalar_type(), "quantize_blocks",
                     AT_DISPATCH_CASE_FLOATING_TYPES([&] {
                       quantize<scalar_t><<<blocks, 128, 128 * sizeof(float), at::cuda::getCurrentCUDAStream()>>>(
                           x.data_ptr<scalar_t>(), codes.data_ptr<c10::Float8_e4m3fn>(), scales.data_ptr<float>(),
                           block_size);
                     })
                     AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES([&] {
                       quantize<scalar_t><<<blocks, 128, 128 * sizeof(float), at::cuda::getCurrentCUDAStream()>>>(
                           x.data_ptr<scalar_t>(), codes.data_ptr<c10::Float8_e4m3fn>(), scales.data_ptr<float>(),
                           block_size);
                     }));
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("quantize_blocks", &quantize_blocks, py::arg("x"), py::arg("codes"), py::arg("scales"),
        py::arg("block_size") = 128);
}
