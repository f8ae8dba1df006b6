// Stands in for libcuda.so.1: a launch is appended to the file that RECORD names, as the real header lays it out.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>

static FILE* record() { return std::fopen(std::getenv("RECORD"), "a"); }
static int device = -1;

extern "C" {
CUresult cuCtxGetDevice(CUdevice* found) {
  *found = device;
  return device < 0 ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext*, CUdevice wanted) {
  device = wanted;
  return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext) { return CUDA_SUCCESS; }
CUresult cuLibraryLoadData(CUlibrary*, const void* code, CUjit_option*, void**, unsigned, CUlibraryOption*, void**,
                           unsigned) {
  return static_cast<const char*>(code)[1] == 'E' ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}
CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary, const char*) {
  *kernel = reinterpret_cast<CUkernel>(0x10);
  return CUDA_SUCCESS;
}
CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel, CUdevice) {
  FILE* file = record();
  std::fprintf(file, "attribute %d %d\n", attribute, value);
  std::fclose(file);
  return value > 232448 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}
CUresult cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction, void** values, void**) {
  FILE* file = record();
  std::fprintf(file, "grid %u %u %u block %u %u %u smem %u stream %zu", c->gridDimX, c->gridDimY, c->gridDimZ,
               c->blockDimX, c->blockDimY, c->blockDimZ, c->sharedMemBytes, reinterpret_cast<size_t>(c->hStream));
  for (unsigned i = 0; i < c->numAttrs; ++i) {
    const CUlaunchAttribute& one = c->attrs[i];
    if (one.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) std::fprintf(file, " cooperative %d", one.value.cooperative);
    if (one.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      std::fprintf(file, " cluster %u %u %u", one.value.clusterDim.x, one.value.clusterDim.y, one.value.clusterDim.z);
  }
  std::fprintf(file, "\nvalues %zx %g %lld %d %g\n", *static_cast<size_t*>(values[0]), *static_cast<float*>(values[1]),
               *static_cast<long long*>(values[2]), *static_cast<bool*>(values[3]), *static_cast<double*>(values[4]));
  std::fclose(file);
  return c->gridDimX == 13 ? CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES : CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult, const char** name) {
  *name = "CUDA_ERROR_OF_THE_TEST";
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult, const char** text) {
  *text = "text of the error";
  return CUDA_SUCCESS;
}
}
