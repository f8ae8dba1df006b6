// The handle of cuBLASLt alone: see cublas_v2.h.
#pragma once
typedef struct cublasLtContext* cublasLtHandle_t;
