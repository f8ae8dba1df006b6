// Stands for ATen/cuda/CUDAContext.h: properties of devices, and torch's cuBLAS handle.
#pragma once

#include <pkwb/cuda_checks.h>
#include <pkwb/cuda_stream.h>

namespace pkwb::cuda {

inline cudaDeviceProp* getDeviceProperties(DeviceIndex device) {
  static std::array<std::optional<cudaDeviceProp>, 128> known;
  TORCH_CHECK(device >= 0, "no device has the number ", static_cast<int>(device));
  auto& found = known[static_cast<size_t>(device)];
  if (!found.has_value()) {
    cudaDeviceProp properties{};
    C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
    found = properties;
  }
  return &*found;
}
inline cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(current_device()); }
inline int warp_size() { return getCurrentDeviceProperties()->warpSize; }

inline cublasHandle_t getCurrentCUDABlasHandle() {
  if (torch_get_current_cuda_blas_handle == nullptr) return static_cast<cublasHandle_t>(runtime::blas_handle());
  void* handle = nullptr;
  runtime::check(torch_get_current_cuda_blas_handle(&handle), "cuBLAS handle");
  return static_cast<cublasHandle_t>(handle);
}

}  // namespace pkwb::cuda

namespace at::cuda {
using pkwb::cuda::getCurrentCUDABlasHandle;
using pkwb::cuda::getCurrentDeviceProperties;
using pkwb::cuda::getDeviceProperties;
using pkwb::cuda::warp_size;
}  // namespace at::cuda
