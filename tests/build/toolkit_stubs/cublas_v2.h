// The little of cuBLAS that torch's headers and the candidates name, for machines whose toolkit comes without it.
#pragma once

#include <library_types.h>

typedef struct cublasContext* cublasHandle_t;
typedef enum { CUBLAS_STATUS_SUCCESS = 0, CUBLAS_STATUS_NOT_SUPPORTED = 15 } cublasStatus_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 } cublasOperation_t;
typedef enum { CUBLAS_COMPUTE_32F = 68 } cublasComputeType_t;
typedef enum { CUBLAS_GEMM_DEFAULT = -1, CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99 } cublasGemmAlgo_t;

extern "C" cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t transa, cublasOperation_t transb, int m,
                                       int n, int k, const void* alpha, const void* a, cudaDataType a_type, int lda,
                                       const void* b, cudaDataType b_type, int ldb, const void* beta, void* c,
                                       cudaDataType c_type, int ldc, cublasComputeType_t compute,
                                       cublasGemmAlgo_t algorithm);
