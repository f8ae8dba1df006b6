// Stands for c10/cuda/CUDAGuard.h: another current device until the end of a block.
#pragma once

#include <pkwb/cuda_stream.h>

namespace pkwb::cuda {

class OptionalCUDAGuard {
 public:
  explicit OptionalCUDAGuard() = default;
  explicit OptionalCUDAGuard(std::optional<Device> device) {
    if (device.has_value()) set_device(*device);
  }
  OptionalCUDAGuard(const OptionalCUDAGuard&) = delete;
  OptionalCUDAGuard& operator=(const OptionalCUDAGuard&) = delete;
  ~OptionalCUDAGuard() {
    if (before_ >= 0) (void)cudaSetDevice(before_);
  }
  void set_device(Device device) {
    TORCH_CHECK(device.is_cuda(), "Expected a CUDA device, but got ", device);
    set_index(device.index());
  }
  void set_index(DeviceIndex index) {
    const DeviceIndex now = current_device();
    if (before_ < 0) before_ = now;
    if (index >= 0 && index != now) cuda::set_device(index);
  }

 private:
  DeviceIndex before_ = -1;
};

class CUDAGuard {
 public:
  explicit CUDAGuard() = delete;
  explicit CUDAGuard(DeviceIndex index) { guard_.set_index(index); }
  explicit CUDAGuard(Device device) { guard_.set_device(device); }
  void set_device(Device device) { guard_.set_device(device); }
  void set_index(DeviceIndex index) { guard_.set_index(index); }

 private:
  OptionalCUDAGuard guard_;
};

}  // namespace pkwb::cuda

namespace c10::cuda {
using pkwb::cuda::CUDAGuard;
using pkwb::cuda::OptionalCUDAGuard;
}  // namespace c10::cuda
