#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <cuda_bf16.h>
#include <mma.h>

using namespace nvcuda;

// A warp a tile of 16 x 16 on tensor cores; sizes are multiples of 16.
__global__ void wmma_gemm(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int m, int n, int k) {
  const int row = (blockIdx.y * blockDim.y + threadIdx.y) * 16;
  const int column = blockIdx.x * 16;
  if (row >= m || column >= n) return;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> total;
  wmma::fill_fragment(total, 0.0f);
  for (int step = 0; step < k; step += 16) {
    wmma::load_matrix_sync(left, a + int64_t(row) * k + step, k);
    wmma::load_matrix_sync(right, b + int64_t(step) * n + column, n);
    wmma::mma_sync(total, left, right, total);
  }
  wmma::store_matrix_sync(c + int64_t(row) * n + column, total, n, wmma::mem_row_major);
}

void product(torch::Tensor a, torch::Tensor b, torch::Tensor c) {
  const int m = a.size(0), k = a.size(1), n = b.size(1);
  TORCH_CHECK(m % 16 == 0 && n % 16 == 0 && k % 16 == 0, "sizes must be multiples of 16: ", m, ", ", n, ", ", k);
  const dim3 grid(n / 16, (m / 16 + 3) / 4), block(32, 4);
  wmma_gemm<<<grid, block, 0, at::cuda::getCurrentCUDAStream()>>>(
      reinterpret_cast<const __nv_bfloat16*>(a.const_data_ptr<at::BFloat16>()),
      reinterpret_cast<const __nv_bfloat16*>(b.const_data_ptr<at::BFloat16>()), c.data_ptr<float>(), m, n, k);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

__global__ void sum_rows(const float* const* peers, int world, int64_t offset, at::BFloat16* out, int64_t count) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float total = 0.f;
  for (int rank = 0; rank < world; ++rank) total += peers[rank][offset + i];
  out[i] = total;
}

void sum_block(int64_t peers, int world, int64_t rank, torch::Tensor out) {
  const int64_t count = out.numel();
  sum_rows<<<(count + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
      reinterpret_cast<const float* const*>(peers), world, rank * count, out.data_ptr<at::BFloat16>(), count);
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("product", &product, "float32 product of bfloat16 matrices");
  m.def("sum_block", &sum_block, "this rank's rows of the sum");
}
