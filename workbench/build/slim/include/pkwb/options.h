// Stands for c10/core/TensorOptions.h: kind of number and device of a tensor to be made.
#pragma once

#include <pkwb/device.h>
#include <pkwb/scalar_type.h>

namespace pkwb {

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType type) : scalar_type_(type) {}
  TensorOptions(TypeMeta type) : scalar_type_(type.toScalarType()) {}
  TensorOptions(Device device) : device_(device) {}
  TensorOptions(DeviceType type) : device_(Device(type)) {}

  TensorOptions dtype(ScalarType type) const { return with(type, device_); }
  TensorOptions dtype(TypeMeta type) const { return with(type.toScalarType(), device_); }
  TensorOptions device(Device device) const { return with(scalar_type_, device); }
  TensorOptions device(DeviceType type, DeviceIndex index = -1) const {
    return with(scalar_type_, Device(type, index));
  }

  // What was asked for; nothing = torch's default.
  std::optional<ScalarType> pkwb_scalar_type() const { return scalar_type_; }
  std::optional<Device> pkwb_device() const { return device_; }

 private:
  static TensorOptions with(std::optional<ScalarType> type, std::optional<Device> device) {
    TensorOptions options;
    options.scalar_type_ = type;
    options.device_ = device;
    return options;
  }

  std::optional<ScalarType> scalar_type_;
  std::optional<Device> device_;
};

inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions device(Device device) { return TensorOptions(device); }

}  // namespace pkwb
