// Functions of every kind of argument, result and error that slim headers know; it compiles with torch's own as well.
#include <torch/extension.h>

#include <new>
#include <stdexcept>

int64_t fails(int kind) {
  TORCH_CHECK(kind != 1, "kind is ", kind, " of ", at::kFloat, " on ", at::kCUDA, " ", true, " ", c10::Half(1.5));
  TORCH_CHECK(kind != 2);
  TORCH_CHECK_INDEX(kind != 3, "index");
  TORCH_CHECK_VALUE(kind != 4, "value");
  TORCH_CHECK_TYPE(kind != 5, "type");
  TORCH_CHECK_NOT_IMPLEMENTED(kind != 6, "not implemented");
  if (kind == 7) throw std::runtime_error("plain");
  if (kind == 8) throw std::out_of_range("out of range");
  if (kind == 9) throw std::invalid_argument("invalid");
  if (kind == 10) throw std::bad_alloc();
  if (kind == 11) throw 3;
  if (kind == 12) AT_DISPATCH_FLOATING_TYPES(at::kInt, "twice", [&] { kind = sizeof(scalar_t); });
  if (kind == 13) AT_ERROR("stop at ", kind);
  try {
    TORCH_CHECK(kind != 14, "caught");
  } catch (const c10::Error& error) {
    throw std::domain_error(error.what_without_backtrace());
  }
  return kind;
}

int64_t asks(torch::Tensor tensor, int question) {
  if (question == 0) return tensor.size(5);
  if (question == 1) return tensor.size(-1);
  if (question == 2) return tensor.stride(0);
  if (question == 3) return tensor.stride(-9);
  if (question == 4) return tensor.sizes().at(9);
  if (question == 5) return tensor.data_ptr<double>() == nullptr;
  if (question == 6) return tensor.data_ptr() == nullptr;
  if (question == 7) return tensor.get_device();
  if (question == 8) return tensor.is_contiguous();
  if (question == 9) return tensor.dim() * 1000 + tensor.numel();
  if (question == 10) return tensor.element_size() * 1000 + static_cast<int64_t>(tensor.nbytes());
  if (question == 11) return tensor.storage_offset();
  if (question == 12) return tensor.is_cuda() * 2 + tensor.is_cpu();
  if (question == 13) return tensor.dtype() == torch::kFloat32;
  if (question == 14) return static_cast<int64_t>(tensor.scalar_type());
  if (question == 15 && tensor.is_cpu() && tensor.numel() > 1) return static_cast<int64_t>(tensor.data_ptr<float>()[1]);
  if (question == 16) return tensor.device().is_cuda() + tensor.device().has_index() * 2;
  if (question == 18) return tensor.item<int64_t>();
  if (question == 19) return static_cast<int64_t>(tensor.item<float>() * 100);
  if (question == 20) return tensor.item<bool>();
  if (question == 17) return tensor.contiguous().is_contiguous() + 2 * tensor.contiguous().is_same(tensor);
  return -1;
}

int64_t asks_nothing(int question) {
  const torch::Tensor none;
  if (question == 0) return none.numel();
  if (question == 1) return none.dim();
  if (question == 2) return none.size(0);
  if (question == 3) return none.defined() + 2 * none.is_cuda() + 4 * none.is_contiguous();
  if (question == 4) return none.data_ptr() == nullptr;
  if (question == 5) return none.device().index();
  return none.data_ptr<float>() == nullptr;
}

torch::Tensor makes(torch::Tensor like, int way) {
  const auto options = torch::TensorOptions().dtype(torch::kBFloat16).device(like.device());
  if (way == 0) return torch::zeros({2, 3}, options);
  if (way == 1) return torch::zeros_like(like);
  if (way == 2) return torch::empty({like.size(0), 4}, like.options()).zero_();
  if (way == 3) return like.clone();
  if (way == 4) return like.view({-1});
  if (way == 5) return like.to(torch::kHalf);
  if (way == 6) return torch::empty_like(like).copy_(like);
  if (way == 7) return torch::ones(like.sizes(), torch::dtype(torch::kInt64));
  if (way == 8) return like.view({5, 5});
  if (way == 10) return torch::tensor(like.sizes().vec());
  if (way == 11) return torch::tensor(like.sizes().vec(), torch::kFloat32);
  if (way == 12) return torch::empty_like(like).fill_(2.5).to(torch::kCPU, at::kInt);
  if (way == 13) return torch::empty({3}, torch::kInt64).fill_((int64_t{1} << 62) + 1);
  if (way == 14) return like.to(torch::TensorOptions().dtype(torch::kDouble), true, true);
  if (way == 15) return torch::empty({3}, torch::kBool).fill_(true);
  return torch::Tensor();
}

int64_t kept(torch::Tensor tensor) {
  static std::vector<torch::Tensor> seen;
  if (tensor.numel() == 0) seen.clear();
  seen.push_back(tensor);
  return static_cast<int64_t>(seen.front().data_ptr<float>()[0] * 100) + static_cast<int64_t>(seen.size());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "of every kind";
  m.def("fails", &fails, "Fails in many ways.", py::arg("kind") = 0);
  m.def("asks", &asks, py::arg("tensor"), py::arg("question"));
  m.def("asks_nothing", &asks_nothing);
  m.def("makes", &makes, py::arg("like"), py::arg("way") = 0);
  m.def("kept", &kept);
  m.def("int8", [](int8_t value) { return value; });
  m.def("uint64", [](uint64_t value) { return value; });
  m.def("int64", [](int64_t value) { return value; });
  m.def("unsigned_int", [](unsigned value) { return value; });
  m.def("float32", [](float value) { return value; });
  m.def("float64", [](double value) { return value; });
  m.def("boolean", [](bool value) { return value; });
  m.def("string", [](const std::string& value) { return value; });
  m.def("tensors", [](std::vector<torch::Tensor> value) { return value; });
  m.def("ints", [](const std::vector<int64_t>& value) { return value; });
  m.def("floats", [](std::vector<double> value) { return value; });
  m.def("nested", [](std::vector<std::vector<int>> value) { return value; });
  m.def("maybe", [](std::optional<torch::Tensor> value) { return value.has_value(); });
  m.def("maybe_int", [](c10::optional<int64_t> value) { return value; }, py::arg("value") = py::none());
  m.def("same", [](const torch::Tensor& value) -> const torch::Tensor& { return value; });
  m.def("same_again", [](torch::Tensor& value) { return value; });
  m.def("four", [](torch::Tensor value) { return std::make_tuple(value, 3, 2.5, std::string("x")); });
  m.def("two", [](torch::Tensor value) { return std::make_pair(value.numel(), value.is_cuda()); });
  m.def("nothing", [] {});
  m.def("no_tensor", [] { return torch::Tensor(); });
  m.def("words", []() -> const char* { return "words"; });
  m.def("dtype", [](torch::Tensor value) { return value.scalar_type(); });
  m.def(
      "defaults",
      [](torch::Tensor tensor, float scale, std::vector<int> sizes, bool flag, std::string mode) {
        return std::make_tuple(tensor.numel(), scale, sizes, flag, mode);
      },
      py::arg("tensor"), py::arg("scale") = 1.5f, py::arg("sizes") = std::vector<int>{1, 2}, py::arg("flag") = true,
      py::arg("mode") = "sum");
}
