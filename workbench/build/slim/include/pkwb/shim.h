// The functions of torch's exported C interface that a slim module calls. Each answers 0 for success.
#pragma once

#include <cstdint>

extern "C" {
using PkwbTensorHandle = void*;

int32_t aoti_torch_new_uninitialized_tensor(PkwbTensorHandle* made);
int32_t aoti_torch_new_tensor_handle(PkwbTensorHandle tensor, PkwbTensorHandle* made);
int32_t aoti_torch_delete_tensor_object(PkwbTensorHandle tensor);
int32_t aoti_torch_assign_tensors(PkwbTensorHandle from, PkwbTensorHandle to);

int32_t aoti_torch_get_data_ptr(PkwbTensorHandle tensor, void** data);
int32_t aoti_torch_get_dim(PkwbTensorHandle tensor, int64_t* dim);
int32_t aoti_torch_get_numel(PkwbTensorHandle tensor, int64_t* numel);
int32_t aoti_torch_get_sizes(PkwbTensorHandle tensor, int64_t** sizes);
int32_t aoti_torch_get_strides(PkwbTensorHandle tensor, int64_t** strides);
int32_t aoti_torch_get_dtype(PkwbTensorHandle tensor, int32_t* dtype);
int32_t aoti_torch_get_device_type(PkwbTensorHandle tensor, int32_t* type);
int32_t aoti_torch_get_device_index(PkwbTensorHandle tensor, int32_t* index);
int32_t aoti_torch_get_storage_offset(PkwbTensorHandle tensor, int64_t* offset);
int32_t aoti_torch_item_float32(PkwbTensorHandle tensor, float* value);
int32_t aoti_torch_item_float64(PkwbTensorHandle tensor, double* value);
int32_t aoti_torch_item_int32(PkwbTensorHandle tensor, int32_t* value);
int32_t aoti_torch_item_int64(PkwbTensorHandle tensor, int64_t* value);
int32_t aoti_torch_item_bool(PkwbTensorHandle tensor, bool* value);
int32_t aoti_torch_get_layout(PkwbTensorHandle tensor, int32_t* layout);
int32_t aoti_torch_layout_strided();
int32_t aoti_torch_is_contiguous(PkwbTensorHandle tensor, bool* contiguous);
int32_t aoti_torch_create_tensor_from_blob(void* data, int64_t dim, const int64_t* sizes, const int64_t* strides,
                                           int64_t offset, int32_t dtype, int32_t device_type, int32_t device_index,
                                           PkwbTensorHandle* made);

int32_t aoti_torch_device_type_cpu();
int32_t aoti_torch_device_type_cuda();

// Only in a torch that was built for CUDA, or in newer ones: null elsewhere.
__attribute__((weak)) int32_t aoti_torch_get_current_cuda_stream(int32_t device_index, void** stream);
__attribute__((weak)) int32_t torch_c10_cuda_check_msg(int32_t error, const char* file, const char* function,
                                                       uint32_t line, bool device_assertions, char** text);
__attribute__((weak)) int32_t torch_get_current_cuda_blas_handle(void** handle);
__attribute__((weak)) void torch_c10_cuda_free_error_msg(char* text);
__attribute__((weak)) const char* torch_exception_get_what_without_backtrace();
}
