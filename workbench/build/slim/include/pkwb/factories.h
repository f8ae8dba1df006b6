// Stands for the few functions of torch:: that make tensors.
#pragma once

#include <pkwb/tensor.h>

#ifdef __CUDACC__
#include <cuda_runtime_api.h>
#endif

namespace pkwb {

inline Tensor make_tensor(const char* name, const runtime::Value& first, const TensorOptions& options) {
  std::vector<runtime::Value> values = runtime::named_values(options);
  values.push_back(first);
  return runtime::call(nullptr, name, values);
}

inline Tensor empty(IntArrayRef sizes, const TensorOptions& options = {}) {
  return make_tensor("empty", sizes, options);
}
inline Tensor zeros(IntArrayRef sizes, const TensorOptions& options = {}) {
  return make_tensor("zeros", sizes, options);
}
inline Tensor ones(IntArrayRef sizes, const TensorOptions& options = {}) {
  return make_tensor("ones", sizes, options);
}
inline Tensor empty_like(const Tensor& other, const TensorOptions& options = {}) {
  return make_tensor("empty_like", other, options);
}
inline Tensor zeros_like(const Tensor& other, const TensorOptions& options = {}) {
  return make_tensor("zeros_like", other, options);
}

inline Tensor tensor(const std::vector<int64_t>& values, const TensorOptions& options = {}) {
  const bool typed = options.pkwb_scalar_type().has_value();
  return make_tensor("tensor", IntArrayRef(values), typed ? options : options.dtype(ScalarType::Long));
}

#ifdef __CUDACC__
// The device that a pointer belongs to, as CUDA knows it.
inline Device device_of_pointer(const void* data) {
  cudaPointerAttributes attributes{};
  const cudaError_t error = cudaPointerGetAttributes(&attributes, data);
  TORCH_CHECK(error == cudaSuccess && attributes.type != cudaMemoryTypeUnregistered,
              "The specified pointer resides on host memory and is not registered with any CUDA device.");
  return Device(kCUDA, static_cast<DeviceIndex>(attributes.device));
}

// A tensor over memory that somebody else keeps.
inline Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {}) {
  TORCH_CHECK_VALUE(sizes.size() == strides.size(), "sizes and strides must be of one length");
  Device device = options.pkwb_device().value_or(Device(kCPU));
  if (device.is_cuda()) {
    const Device real = device_of_pointer(data);
    TORCH_CHECK(!device.has_index() || device == real, "Specified device ", device,
                " does not match device of data ", real);
    device = real;
  }
  void* made = nullptr;
  runtime::check(aoti_torch_create_tensor_from_blob(
                     data, static_cast<int64_t>(sizes.size()), sizes.data(), strides.data(), 0,
                     static_cast<int32_t>(options.pkwb_scalar_type().value_or(ScalarType::Float)),
                     static_cast<int32_t>(device.type()), device.is_cuda() ? device.index() : 0, &made),
                 "from_blob");
  return Tensor::from_handle(made);
}
inline Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {}) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(sizes[i], 1);
  return from_blob(data, sizes, strides, options);
}
#endif

}  // namespace pkwb
