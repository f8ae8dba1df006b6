// The status of cuSOLVER alone: see cublas_v2.h.
#pragma once
typedef enum { CUSOLVER_STATUS_SUCCESS = 0, CUSOLVER_STATUS_EXECUTION_FAILED = 6 } cusolverStatus_t;
