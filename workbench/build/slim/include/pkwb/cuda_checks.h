// Stands for ATen/cuda/Exceptions.h: checks of CUDA and of cuBLAS.
#pragma once

#include <pkwb/cuda_error.h>

// Only for sources that name more of cuBLAS than its handle. __has_include is no way to ask: g++ then passes over an
// include of the missing file in silence.
#ifdef PKWB_CUBLAS
#include <cublas_v2.h>
#else
struct cublasContext;
typedef struct cublasContext* cublasHandle_t;
#endif

#define AT_CUDA_CHECK(EXPR) C10_CUDA_CHECK(EXPR)
