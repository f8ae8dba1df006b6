// Every name that slim headers offer, used once: torch's own headers must know them all, with the same types.
#include <ATen/cuda/CUDAContext.h>
#include <ATen/cuda/Exceptions.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/extension.h>

template <typename Wanted, typename Found>
void is(Found&&) {
  static_assert(std::is_same_v<Wanted, std::decay_t<Found>>);
}

void tensors(at::Tensor a, torch::Tensor b) {
  is<bool>(a.defined());
  is<bool>(a.is_same(b));
  is<int64_t>(a.dim());
  is<int64_t>(a.ndimension());
  is<int64_t>(a.numel());
  is<int64_t>(a.storage_offset());
  is<at::IntArrayRef>(a.sizes());
  is<c10::IntArrayRef>(a.strides());
  is<int64_t>(a.size(0));
  is<int64_t>(a.stride(0));
  is<at::ScalarType>(a.scalar_type());
  is<caffe2::TypeMeta>(a.dtype());
  is<size_t>(static_cast<size_t>(a.element_size()));
  is<size_t>(static_cast<size_t>(a.itemsize()));
  is<size_t>(a.nbytes());
  is<bool>(a.is_contiguous());
  is<bool>(a.is_cuda());
  is<bool>(a.is_cpu());
  is<c10::Device>(a.device());
  is<int64_t>(static_cast<int64_t>(a.get_device()));
  is<at::TensorOptions>(a.options());
  is<void*>(a.data_ptr());
  is<const void*>(a.const_data_ptr());
  is<void*>(a.mutable_data_ptr());
  is<float*>(a.data_ptr<float>());
  is<const at::Half*>(a.const_data_ptr<at::Half>());
  is<c10::BFloat16*>(a.mutable_data_ptr<c10::BFloat16>());
  for (const at::Tensor& made : {a.contiguous(), a.clone(), a.cpu(), a.view({1}), a.reshape({1})}) b = made;
  b = a.to(at::kHalf);
  b = a.to(at::kHalf, true, true).to(at::kCPU).to(b.device(), true).to(at::Device(at::kCUDA, 0), at::kFloat);
  b = a.to(a.options()).to(b.dtype()).cuda();
  is<at::Tensor>(a.fill_(1).fill_(1.5).fill_(true).fill_(int64_t{1}).fill_(1.5f));
  is<float>(a.item<float>());
  is<double>(a.item<double>());
  is<int>(a.item<int>());
  is<int64_t>(a.item<int64_t>());
  is<bool>(a.item<bool>());
  is<at::Tensor>(a.zero_());
  is<at::Tensor>(a.copy_(b, true));
  is<std::optional<at::Device>>(at::device_of(a));
  a.reset();
}

void factories(void* data, std::vector<int64_t> sizes) {
  const auto options = torch::TensorOptions().dtype(torch::kFloat32).device(torch::kCUDA, 1).dtype(torch::kInt);
  for (const torch::Tensor& made : {torch::empty({1, 2}, options), torch::zeros(sizes), at::ones({2}, at::kLong)}) {
    at::empty_like(made);
    torch::zeros_like(made, made.options().device(at::Device(at::kCPU)));
  }
  torch::empty({2}, torch::dtype(torch::kUInt8).device(c10::Device(c10::DeviceType::CUDA, 0)));
  torch::empty({2}, torch::device(torch::kCPU));
  torch::tensor(sizes);
  torch::tensor(sizes, torch::dtype(torch::kInt64).device(torch::kCUDA));
  torch::empty({2}, at::TensorOptions(at::kCUDA).dtype(caffe2::TypeMeta(torch::empty({1}).dtype())));
#ifdef __CUDACC__
  torch::from_blob(data, {1, 2}, options);
  at::from_blob(data, sizes, sizes, at::TensorOptions(at::kFloat));
#else
  (void)data;
#endif
}

void small_things(at::IntArrayRef values, at::Device device, caffe2::TypeMeta meta, torch::Dtype type) {
  is<std::vector<int64_t>>(values.vec());
  is<size_t>(values.size());
  const int64_t number = values[0] + values.at(0) + values.front() + values.back() + *values.begin() + *values.data();
  TORCH_CHECK(values.equals(values) && !values.empty() && values == values && !(values != values), number, values);
  TORCH_CHECK(values.vec() == values && values == values.vec() && values.end() != nullptr);
  TORCH_CHECK(device.is_cuda() && device.is_cpu() && device.has_index() && device == device, device, device.str());
  TORCH_CHECK(device.type() == at::DeviceType::CUDA && device.index() == c10::DeviceIndex{0} && device != device);
  TORCH_CHECK(meta == type && type == meta && meta != type && type != meta && meta == meta && meta != meta, meta);
  TORCH_CHECK(meta.itemsize() == c10::elementSize(type), meta.name(), meta.toScalarType(), c10::toString(type));
  TORCH_CHECK(c10::typeMetaToScalarType(meta) == type, type, at::kCUDA);
  for (auto name : {torch::kUInt8, torch::kInt8, torch::kInt16, torch::kInt32, torch::kInt64}) type = name;
  type = torch::kFloat16;
  for (auto name : {torch::kFloat32, torch::kFloat64, torch::kFloat, at::kBFloat16, c10::kBool, at::kByte}) type = name;
  c10::optional<int> nothing = c10::nullopt;
  nothing = c10::make_optional(1);
  TORCH_CHECK_INDEX(true, "text ", 1);
  TORCH_CHECK_VALUE(true, "value");
  TORCH_CHECK_TYPE(true, "text ", 1);
  TORCH_CHECK_NOT_IMPLEMENTED(true, "text ", 1);
  TORCH_INTERNAL_ASSERT(true, "internal");
  TORCH_WARN("warned ", 1);
  try {
    AT_ERROR("stop");
  } catch (const c10::Error& error) {
    std::string text = error.what();
    text = error.what_without_backtrace() + error.msg();
  }
}

void dispatched(at::ScalarType type) {
  auto use = [] {};
#define RUN [&] { scalar_t value{}; (void)value; use(); }
  AT_DISPATCH_FLOATING_TYPES(type, "a", RUN);
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(type, "b", RUN);
  AT_DISPATCH_REDUCED_FLOATING_TYPES(type, "c", RUN);
  AT_DISPATCH_INTEGRAL_TYPES(type, "d", RUN);
  AT_DISPATCH_ALL_TYPES(type, "e", RUN);
  AT_DISPATCH_FLOATING_TYPES_AND(at::kHalf, type, "f", RUN);
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, type, "g", RUN);
  AT_DISPATCH_FLOATING_TYPES_AND3(at::kHalf, at::kBFloat16, at::kFloat8_e4m3fn, type, "h", RUN);
  AT_DISPATCH_ALL_TYPES_AND(at::kBool, type, "i", RUN);
  AT_DISPATCH_ALL_TYPES_AND2(at::kHalf, at::kBool, type, "j", RUN);
  AT_DISPATCH_ALL_TYPES_AND3(at::kHalf, at::kBool, at::kBFloat16, type, "k", RUN);
  AT_DISPATCH_SWITCH(type, "l", AT_DISPATCH_CASE(at::kInt, RUN) AT_DISPATCH_CASE_FLOATING_TYPES_AND_HALF(RUN));
  AT_DISPATCH_SWITCH(type, "m", AT_DISPATCH_CASE_ALL_TYPES_AND(at::kHalf, RUN));
  AT_DISPATCH_SWITCH(type, "n",
                     AT_DISPATCH_CASE_FLOATING_TYPES_AND(at::kHalf, RUN) AT_DISPATCH_CASE_INTEGRAL_TYPES(RUN));
}

void on_cuda(at::Tensor a) {
  const c10::cuda::CUDAStream stream = at::cuda::getCurrentCUDAStream();
  const cudaStream_t raw = c10::cuda::getCurrentCUDAStream(a.device().index());
  TORCH_CHECK(stream.stream() == raw && stream.device_index() == 0 && stream.device() == a.device());
  stream.synchronize();
  c10::cuda::CUDAGuard guard(a.device());
  guard.set_device(a.device());
  guard.set_index(0);
  const at::cuda::CUDAGuard by_index(static_cast<c10::DeviceIndex>(0));
  at::cuda::OptionalCUDAGuard maybe(at::device_of(a));
  maybe.set_device(a.device());
  maybe.set_index(0);
  const c10::cuda::OptionalCUDAGuard empty;
  C10_CUDA_CHECK(cudaGetLastError());
  AT_CUDA_CHECK(cudaGetLastError());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  is<c10::DeviceIndex>(c10::cuda::current_device());
  c10::cuda::set_device(0);
  c10::cuda::device_synchronize();
  is<cublasHandle_t>(at::cuda::getCurrentCUDABlasHandle());
  is<cudaDeviceProp*>(at::cuda::getCurrentDeviceProperties());
  is<cudaDeviceProp*>(at::cuda::getDeviceProperties(0));
  is<int>(at::cuda::warp_size());
}

int warp() { return 1; }

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  using namespace pybind11::literals;
  m.doc() = "names";
  m.def("tensors", &tensors);
  m.def("factories", torch::wrap_pybind_function(warp));
  m.def("on_cuda", &on_cuda, "doc", "a"_a);
  m.def("more", [](int a, std::optional<int> b) { return a; }, py::arg("a") = 1, py::arg("b") = py::none());
}
