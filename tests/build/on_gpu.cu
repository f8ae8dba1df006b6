// What slim headers take from CUDA and from torch's CUDA library: streams, devices, cuBLAS handles, errors, numbers.
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Float8_e5m2.h>
#include <torch/extension.h>

int64_t stream(int device) { return reinterpret_cast<int64_t>(at::cuda::getCurrentCUDAStream(device).stream()); }
int64_t blas_handle() { return reinterpret_cast<int64_t>(at::cuda::getCurrentCUDABlasHandle()); }

int64_t property(int kind) {
  const cudaDeviceProp* properties = at::cuda::getCurrentDeviceProperties();
  if (kind == 0) return properties->multiProcessorCount;
  if (kind == 1) return properties->major * 10 + properties->minor;
  return at::cuda::warp_size() * 1000 + c10::cuda::current_device();
}

int64_t guarded(torch::Tensor tensor) {
  const at::cuda::OptionalCUDAGuard guard(at::device_of(tensor));
  return c10::cuda::current_device();
}

torch::Tensor blob(int64_t address, std::vector<int64_t> sizes, bool named) {
  auto options = torch::TensorOptions().dtype(torch::kFloat32);
  options = named ? options.device(torch::kCUDA, 0) : options.device(torch::kCUDA);
  return torch::from_blob(reinterpret_cast<void*>(address), sizes, options);
}

template <typename T>
__global__ void scale(const T* x, float factor, T* out, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) out[i] = static_cast<T>(static_cast<float>(x[i]) * factor);
}

torch::Tensor scaled(torch::Tensor x, double factor) {
  TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "x must be a contiguous CUDA tensor");
  auto out = torch::empty_like(x);
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "scaled", [&] {
    scale<scalar_t><<<(x.numel() + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<scalar_t>(), factor, out.data_ptr<scalar_t>(), x.numel());
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

template <typename T>
__global__ void there_and_back(const float* x, float* out, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) out[i] = static_cast<float>(static_cast<T>(x[i]));
}

torch::Tensor rounded(torch::Tensor x, int kind) {
  auto out = torch::zeros_like(x);
  const int64_t count = x.numel();
  const float* from = x.data_ptr<float>();
  float* to = out.data_ptr<float>();
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  if (kind == 0) there_and_back<c10::Half><<<(count + 255) / 256, 256, 0, stream>>>(from, to, count);
  if (kind == 1) there_and_back<c10::BFloat16><<<(count + 255) / 256, 256, 0, stream>>>(from, to, count);
  if (kind == 2) there_and_back<c10::Float8_e4m3fn><<<(count + 255) / 256, 256, 0, stream>>>(from, to, count);
  if (kind == 3) there_and_back<c10::Float8_e5m2><<<(count + 255) / 256, 256, 0, stream>>>(from, to, count);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

void too_many_threads(torch::Tensor x) {
  scale<float><<<1, 4096>>>(x.data_ptr<float>(), 1.f, x.data_ptr<float>(), x.numel());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

__global__ void nothing() {}

// A launch like many: four tensors, three numbers, the usual checks.
void launch(torch::Tensor a, torch::Tensor b, torch::Tensor c, torch::Tensor d, int64_t n, double x, bool flag) {
  for (const auto& tensor : {a, b, c, d}) {
    TORCH_CHECK(tensor.is_cuda() && tensor.is_contiguous() && tensor.dtype() == torch::kFloat32, "wrong tensor");
    TORCH_CHECK(tensor.size(0) == n || flag || x > 0, "wrong size");
  }
  nothing<<<1, 32, 0, at::cuda::getCurrentCUDAStream()>>>();
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("stream", &stream, py::arg("device") = -1);
  m.def("blas_handle", &blas_handle);
  m.def("property", &property);
  m.def("guarded", &guarded);
  m.def("blob", &blob);
  m.def("scaled", &scaled);
  m.def("rounded", &rounded);
  m.def("too_many_threads", &too_many_threads);
  m.def("launch", &launch);
}
