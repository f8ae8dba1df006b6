// Stands for c10/cuda/CUDAException.h and CUDAFunctions.h: CUDA's error codes become errors, and the current device.
#pragma once

#include <pkwb/base.h>

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace pkwb::cuda {

// torch's own words for an error, where its C interface has them.
inline std::string error_text(cudaError_t error, const char* file, const char* function, uint32_t line) {
  if (torch_c10_cuda_check_msg == nullptr) {
    return text_of("CUDA error: ", cudaGetErrorString(error),
                   "\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace "
                   "below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1");
  }
  char* text = nullptr;
  torch_c10_cuda_check_msg(static_cast<int32_t>(error), file, function, line, true, &text);
  std::string copy = text != nullptr ? text : cudaGetErrorString(error);
  if (text != nullptr) torch_c10_cuda_free_error_msg(text);
  return copy;
}

inline void check(cudaError_t error, const char* file, const char* function, uint32_t line) {
  if (__builtin_expect(error == cudaSuccess, 1)) return;
  (void)cudaGetLastError();
  throw Error(ErrorKind::accelerator, error_text(error, file, function, line), static_cast<int>(error));
}

}  // namespace pkwb::cuda

#define C10_CUDA_CHECK(EXPR)                                                                     \
  do {                                                                                           \
    const cudaError_t pkwb_error = EXPR;                                                         \
    ::pkwb::cuda::check(pkwb_error, __FILE__, __func__, static_cast<uint32_t>(__LINE__));        \
  } while (0)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() C10_CUDA_CHECK(cudaGetLastError())

namespace pkwb::cuda {

inline DeviceIndex current_device() {
  int device = 0;
  C10_CUDA_CHECK(cudaGetDevice(&device));
  return static_cast<DeviceIndex>(device);
}
inline void set_device(DeviceIndex device) { C10_CUDA_CHECK(cudaSetDevice(device)); }
inline void device_synchronize() { C10_CUDA_CHECK(cudaDeviceSynchronize()); }

}  // namespace pkwb::cuda

namespace c10::cuda {
using pkwb::cuda::current_device;
using pkwb::cuda::device_synchronize;
using pkwb::cuda::set_device;
}  // namespace c10::cuda
