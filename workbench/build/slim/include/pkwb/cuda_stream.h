// Stands for c10/cuda/CUDAStream.h: the stream that torch works on.
#pragma once

#include <pkwb/cuda_error.h>

namespace pkwb::cuda {

class CUDAStream;
inline CUDAStream getCurrentCUDAStream(DeviceIndex device = -1);

class CUDAStream {
 public:
  operator cudaStream_t() const { return stream_; }
  cudaStream_t stream() const { return stream_; }
  DeviceIndex device_index() const { return device_; }
  Device device() const { return Device(kCUDA, device_); }
  void synchronize() const { C10_CUDA_CHECK(cudaStreamSynchronize(stream_)); }

 private:
  CUDAStream(cudaStream_t stream, DeviceIndex device) : stream_(stream), device_(device) {}
  friend CUDAStream getCurrentCUDAStream(DeviceIndex device);

  cudaStream_t stream_;
  DeviceIndex device_;
};

inline CUDAStream getCurrentCUDAStream(DeviceIndex device) {
  TORCH_CHECK(aoti_torch_get_current_cuda_stream != nullptr, "this torch was built without CUDA");
  if (device == -1) device = current_device();
  void* stream = nullptr;
  runtime::check(aoti_torch_get_current_cuda_stream(device, &stream), "current stream");
  return CUDAStream(static_cast<cudaStream_t>(stream), device);
}

}  // namespace pkwb::cuda

namespace c10::cuda {
using pkwb::cuda::CUDAStream;
using pkwb::cuda::getCurrentCUDAStream;
}  // namespace c10::cuda

namespace at::cuda {
using namespace c10::cuda;
}  // namespace at::cuda
