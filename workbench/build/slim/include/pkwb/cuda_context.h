// Stands for ATen/cuda/CUDAContext.h: properties of devices, and torch's cuBLAS handle.
#pragma once

#include <pkwb/cuda_checks.h>
#include <pkwb/cuda_stream.h>

namespace pkwb::cuda {

inline cudaDeviceProp* getDeviceProperties(DeviceIndex device) {
  static std::map<DeviceIndex, cudaDeviceProp> known;
  const auto found = known.find(device);
  if (found != known.end()) return &found->second;
  cudaDeviceProp properties{};
  C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, device));
  return &known.emplace(device, properties).first->second;
}
inline cudaDeviceProp* getCurrentDeviceProperties() { return getDeviceProperties(current_device()); }
inline int warp_size() { return getCurrentDeviceProperties()->warpSize; }

inline cublasHandle_t getCurrentCUDABlasHandle() { return static_cast<cublasHandle_t>(runtime::blas_handle()); }

}  // namespace pkwb::cuda

namespace at::cuda {
using pkwb::cuda::getCurrentCUDABlasHandle;
using pkwb::cuda::getCurrentDeviceProperties;
using pkwb::cuda::getDeviceProperties;
using pkwb::cuda::warp_size;
}  // namespace at::cuda
