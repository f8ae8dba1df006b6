// Stands for torch/types.h and what it brings: tensors, number types, checks, dispatch, under torch's names.
#pragma once

#include <pkwb/dispatch.h>
#include <pkwb/factories.h>

namespace c10 {
using pkwb::ArrayRef;
using pkwb::Device;
using pkwb::DeviceIndex;
using pkwb::DeviceType;
using pkwb::elementSize;
using pkwb::Error;
using pkwb::IntArrayRef;
using pkwb::kCPU;
using pkwb::kCUDA;
using pkwb::ScalarType;
using pkwb::TensorOptions;
using pkwb::toString;
using pkwb::typeMetaToScalarType;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using std::optional;
#define PKWB_ENTRY(name, bytes, printed) inline constexpr ScalarType k##name = ScalarType::name;
PKWB_SCALAR_TYPES(PKWB_ENTRY)
#undef PKWB_ENTRY
}  // namespace c10

namespace caffe2 {
using pkwb::TypeMeta;
}  // namespace caffe2

namespace at {
using namespace c10;
using pkwb::device;
using pkwb::device_of;
using pkwb::dtype;
using pkwb::empty;
using pkwb::empty_like;
#ifdef __CUDACC__
using pkwb::from_blob;
#endif
using pkwb::ones;
using pkwb::Tensor;
using pkwb::zeros;
using pkwb::zeros_like;
}  // namespace at

namespace torch {
using namespace at;
// torch::cuda is a namespace of its own, not at::cuda.
namespace cuda {}
using Dtype = at::ScalarType;
using pkwb::tensor;
inline constexpr auto kUInt8 = at::kByte;
inline constexpr auto kInt8 = at::kChar;
inline constexpr auto kInt16 = at::kShort;
inline constexpr auto kInt32 = at::kInt;
inline constexpr auto kInt64 = at::kLong;
inline constexpr auto kFloat16 = at::kHalf;
inline constexpr auto kFloat32 = at::kFloat;
inline constexpr auto kFloat64 = at::kDouble;
}  // namespace torch
