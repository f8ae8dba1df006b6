#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

#include <optional>
#include <vector>

template <typename T>
__global__ void power_sum(const T* x, int64_t count, float power, float* total) {
  float sum = 0.f;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += int64_t(gridDim.x) * blockDim.x) {
    const float value = fabsf(static_cast<float>(x[i]));
    sum += power == 2.f ? value * value : powf(value, power);
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
  if (threadIdx.x % 32 == 0) atomicAdd(total, sum);
}

template <typename T>
__global__ void scale_by(T* x, int64_t count, float factor) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) x[i] = static_cast<T>(static_cast<float>(x[i]) * factor);
}

void add_powers(std::vector<std::optional<torch::Tensor>> gradients, float power, torch::Tensor total) {
  for (const auto& gradient : gradients) {
    if (!gradient.has_value() || gradient->numel() == 0) continue;
    TORCH_CHECK(gradient->is_contiguous(), "gradients must be contiguous");
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, gradient->scalar_type(), "add_powers", [&] {
      power_sum<scalar_t><<<128, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
          gradient->data_ptr<scalar_t>(), gradient->numel(), power, total.data_ptr<float>());
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
}

void scale_all(const std::vector<torch::Tensor>& gradients, double factor) {
  for (auto gradient : gradients) {
    const int64_t count = gradient.numel();
    if (count == 0) continue;
    AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, gradient.scalar_type(), "scale_all", [&] {
      scale_by<scalar_t><<<(count + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
          gradient.data_ptr<scalar_t>(), count, static_cast<float>(factor));
    });
    C10_CUDA_KERNEL_LAUNCH_CHECK();
  }
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("add_powers", &add_powers, py::arg("gradients"), py::arg("power"), py::arg("total"));
  m.def("scale_all", &scale_all);
}
