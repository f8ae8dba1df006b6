// Stands for c10/core/Device.h, as far as CPU and CUDA go.
#pragma once

#include <pkwb/error.h>

namespace pkwb {

// torch's own numbers; the runtime compares them when a module is loaded.
enum class DeviceType : int8_t { CPU = 0, CUDA = 1 };
using DeviceIndex = int8_t;

inline constexpr DeviceType kCPU = DeviceType::CPU;
inline constexpr DeviceType kCUDA = DeviceType::CUDA;

inline const char* device_type_name(DeviceType type) {
  return type == kCPU ? "cpu" : type == kCUDA ? "cuda" : "another device";
}
inline std::ostream& operator<<(std::ostream& out, DeviceType type) { return out << device_type_name(type); }

class Device {
 public:
  Device(DeviceType type, DeviceIndex index = -1) : type_(type), index_(index) {}
  DeviceType type() const { return type_; }
  DeviceIndex index() const { return index_; }
  bool has_index() const { return index_ != -1; }
  bool is_cuda() const { return type_ == kCUDA; }
  bool is_cpu() const { return type_ == kCPU; }
  std::string str() const {
    const std::string name = device_type_name(type_);
    return has_index() ? name + ':' + std::to_string(static_cast<int>(index_)) : name;
  }
  bool operator==(const Device& other) const noexcept { return type_ == other.type_ && index_ == other.index_; }
  bool operator!=(const Device& other) const noexcept { return !(*this == other); }

 private:
  DeviceType type_;
  DeviceIndex index_;
};

inline std::ostream& operator<<(std::ostream& out, const Device& device) { return out << device.str(); }

}  // namespace pkwb
