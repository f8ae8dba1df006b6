// Stands for ATen/cuda/Exceptions.h: checks of CUDA and of cuBLAS.
#pragma once

#include <pkwb/cuda_error.h>

// A toolkit without cuBLAS still knows its handle; who calls cuBLAS includes its header.
#if __has_include(<cublas_v2.h>)
#include <cublas_v2.h>
#else
struct cublasContext;
typedef struct cublasContext* cublasHandle_t;
#endif

#define AT_CUDA_CHECK(EXPR) C10_CUDA_CHECK(EXPR)
