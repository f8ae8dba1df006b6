#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <torch/extension.h>

#include <tuple>

// One block a column tile of 32: rows are split over warps and added up in shared memory.
template <typename T>
__global__ void column_sums(const T* x_hat, const T* dy, float* scale, float* shift, int rows, int columns) {
  __shared__ float partial[2][8][33];
  const int column = blockIdx.x * 32 + threadIdx.x;
  float with_x = 0.f, plain = 0.f;
  if (column < columns) {
    for (int row = threadIdx.y; row < rows; row += 8) {
      const float gradient = static_cast<float>(dy[int64_t(row) * columns + column]);
      with_x += gradient * static_cast<float>(x_hat[int64_t(row) * columns + column]);
      plain += gradient;
    }
  }
  partial[0][threadIdx.y][threadIdx.x] = with_x;
  partial[1][threadIdx.y][threadIdx.x] = plain;
  __syncthreads();
  if (threadIdx.y < 2 && column < columns) {
    float total = 0.f;
    for (int k = 0; k < 8; ++k) total += partial[threadIdx.y][k][threadIdx.x];
    (threadIdx.y == 0 ? scale : shift)[column] = total;
  }
}

void local_sums(torch::Tensor x_hat, torch::Tensor dy, torch::Tensor sums) {
  TORCH_CHECK(x_hat.dim() == 2 && x_hat.sizes() == dy.sizes(), "x_hat and dy must be matrices of one shape");
  TORCH_CHECK(sums.scalar_type() == at::kFloat, "sums must be float32");
  const int rows = x_hat.size(0), columns = x_hat.size(1);
  float* out = sums.data_ptr<float>();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, dy.scalar_type(), "local_sums", [&] {
    column_sums<scalar_t><<<(columns + 31) / 32, dim3(32, 8), 0, at::cuda::getCurrentCUDAStream()>>>(
        x_hat.data_ptr<scalar_t>(), dy.data_ptr<scalar_t>(), out, out + columns, rows, columns);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

template <typename T>
__global__ void sum_over_ranks(const float* const* peers, int world, T* scale, T* shift, int columns) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= 2 * columns) return;
  float total = 0.f;
  for (int rank = 0; rank < world; ++rank) total += peers[rank][i];
  if (i < columns) scale[i] = static_cast<T>(total);
  else shift[i - columns] = static_cast<T>(total);
}

std::tuple<torch::Tensor, torch::Tensor> total_sums(int64_t peers, int64_t world, torch::Tensor like) {
  const int64_t columns = like.size(-1);
  auto scale = torch::empty({columns}, like.options());
  auto shift = torch::empty({columns}, like.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, like.scalar_type(), "total_sums", [&] {
    sum_over_ranks<scalar_t><<<(2 * columns + 127) / 128, 128, 0, at::cuda::getCurrentCUDAStream()>>>(
        reinterpret_cast<const float* const*>(peers), world, scale.data_ptr<scalar_t>(), shift.data_ptr<scalar_t>(),
        columns);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return std::make_tuple(scale, shift);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("local_sums", &local_sums);
  m.def("total_sums", &total_sums);
}
