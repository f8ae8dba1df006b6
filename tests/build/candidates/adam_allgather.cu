#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>

struct Settings {
  float rate, beta1, beta2, eps, correction1, correction2;
};

template <typename T>
__global__ void adam(const T* gradient, const T* master, const T* first, const T* second, Settings s, T* out,
                     int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float g = static_cast<float>(gradient[i]);
  const float m = s.beta1 * static_cast<float>(first[i]) + (1.f - s.beta1) * g;
  const float v = s.beta2 * static_cast<float>(second[i]) + (1.f - s.beta2) * g * g;
  const float step = (m / s.correction1) / (sqrtf(v / s.correction2) + s.eps);
  out[i] = static_cast<T>(static_cast<float>(master[i]) - s.rate * step);
}

void step(torch::Tensor gradient, torch::Tensor master, torch::Tensor first, torch::Tensor second, torch::Tensor out,
          double rate, double beta1, double beta2, double eps, int64_t number) {
  for (const auto& tensor : {gradient, master, first, second}) {
    TORCH_CHECK(tensor.is_cuda() && tensor.is_contiguous() && tensor.numel() == out.numel(), "all must be like out");
    TORCH_CHECK(tensor.scalar_type() == out.scalar_type(), "expected ", out.scalar_type());
  }
  const Settings settings{float(rate), float(beta1), float(beta2), float(eps), float(1 - std::pow(beta1, number)),
                          float(1 - std::pow(beta2, number))};
  const int64_t count = out.numel();
  AT_DISPATCH_FLOATING_TYPES_AND(at::kBFloat16, out.scalar_type(), "step", [&] {
    adam<<<(count + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
        gradient.data_ptr<scalar_t>(), master.data_ptr<scalar_t>(), first.data_ptr<scalar_t>(),
        second.data_ptr<scalar_t>(), settings, out.data_ptr<scalar_t>(), count);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.doc() = "One step of Adam on a shard";
  m.def("step", &step, py::arg("gradient"), py::arg("master"), py::arg("first"), py::arg("second"), py::arg("out"),
        py::arg("rate") = 1e-3, py::arg("beta1") = 0.9, py::arg("beta2") = 0.999, py::arg("eps") = 1e-8,
        py::arg("number") = 1);
}
