#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAGuard.h>
#include <torch/extension.h>

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) \
  CHECK_CUDA(x);       \
  CHECK_CONTIGUOUS(x)

__global__ void take(const char* from, char* to, long bytes) {
  const long place = (long(blockIdx.x) * blockDim.x + threadIdx.x) * 4;
  if (place + 4 <= bytes) {
    *reinterpret_cast<uint32_t*>(to + place) = *reinterpret_cast<const uint32_t*>(from + place);
  } else {
    for (long i = place; i < bytes; ++i) to[i] = from[i];
  }
}

void take_piece(torch::Tensor out, int64_t source, int64_t offset_bytes) {
  CHECK_INPUT(out);
  const c10::cuda::CUDAGuard guard(out.device());
  const at::cuda::OptionalCUDAGuard again(at::device_of(out));
  const long bytes = out.numel() * out.element_size();
  const auto stream = at::cuda::getCurrentCUDAStream(out.get_device());
  take<<<(bytes + 1023) / 1024, 256, 0, stream>>>(reinterpret_cast<const char*>(source) + offset_bytes,
                                                  static_cast<char*>(out.data_ptr()), bytes);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("take_piece", &take_piece, "One rank's piece", py::arg("out"), py::arg("source"), py::arg("offset_bytes") = 0);
}
