// What this process's torch is like: where a Python tensor keeps its at::Tensor, and what its C interface says.
#pragma once

#include "python_error.h"

#include <pkwb/device.h>
#include <pkwb/scalar_type.h>
#include <pkwb/shim.h>

extern "C" {
int32_t aoti_torch_dtype_bfloat16();
int32_t aoti_torch_dtype_bool();
int32_t aoti_torch_dtype_complex64();
int32_t aoti_torch_dtype_float16();
int32_t aoti_torch_dtype_float32();
int32_t aoti_torch_dtype_float64();
int32_t aoti_torch_dtype_float8_e4m3fn();
int32_t aoti_torch_dtype_float8_e5m2();
int32_t aoti_torch_dtype_int16();
int32_t aoti_torch_dtype_int32();
int32_t aoti_torch_dtype_int64();
int32_t aoti_torch_dtype_int8();
int32_t aoti_torch_dtype_uint16();
int32_t aoti_torch_dtype_uint32();
int32_t aoti_torch_dtype_uint64();
int32_t aoti_torch_dtype_uint8();
}

namespace at {
class TensorBase;
}
// torch's own way from a tensor to its Python object; null in a torch that declares it otherwise.
__attribute__((weak)) PyObject* THPVariable_Wrap(const at::TensorBase& tensor);

namespace pkwb::runtime {

struct TorchFacts {
  PyObject* torch = nullptr;
  PyTypeObject* tensor_class = nullptr;
  PyObject* take_handles = nullptr;  // list of capsules of handles -> list of tensors, which then own them
  size_t place = 0;                 // bytes from the Python object to its at::Tensor
};

// Thrown when torch is not what the slim headers take it for: the module must be built with torch's own headers.
struct Unavailable : Error {
  explicit Unavailable(const std::string& why) : Error(ErrorKind::runtime, "slim: " + why) {}
};

inline void need(bool holds, const char* why) {
  if (!holds) throw Unavailable(why);
}

inline PyObject* attribute(PyObject* owner, const char* name) {
  PyObject* found = PyObject_GetAttrString(owner, name);
  if (found == nullptr) PyErr_Clear();
  need(found != nullptr, name);
  return found;
}

inline void check_numbers() {
  const std::pair<ScalarType, int32_t> pairs[] = {
      {ScalarType::Byte, aoti_torch_dtype_uint8()},       {ScalarType::Char, aoti_torch_dtype_int8()},
      {ScalarType::Short, aoti_torch_dtype_int16()},      {ScalarType::Int, aoti_torch_dtype_int32()},
      {ScalarType::Long, aoti_torch_dtype_int64()},       {ScalarType::Half, aoti_torch_dtype_float16()},
      {ScalarType::Float, aoti_torch_dtype_float32()},    {ScalarType::Double, aoti_torch_dtype_float64()},
      {ScalarType::ComplexFloat, aoti_torch_dtype_complex64()},
      {ScalarType::Bool, aoti_torch_dtype_bool()},        {ScalarType::BFloat16, aoti_torch_dtype_bfloat16()},
      {ScalarType::UInt16, aoti_torch_dtype_uint16()},    {ScalarType::UInt32, aoti_torch_dtype_uint32()},
      {ScalarType::UInt64, aoti_torch_dtype_uint64()},
      {ScalarType::Float8_e5m2, aoti_torch_dtype_float8_e5m2()},
      {ScalarType::Float8_e4m3fn, aoti_torch_dtype_float8_e4m3fn()},
  };
  for (const auto& [ours, theirs] : pairs) need(static_cast<int32_t>(ours) == theirs, "other numbers for dtypes");
  need(static_cast<int32_t>(kCPU) == aoti_torch_device_type_cpu(), "another number for cpu");
  need(static_cast<int32_t>(kCUDA) == aoti_torch_device_type_cuda(), "another number for cuda");
}

// A Python tensor of a handle, which is used up.
inline PyObject* tensor_of_handle(const TorchFacts& facts, void* handle) {
  const Owned capsule(checked(PyCapsule_New(handle, nullptr, nullptr)));
  const Owned handles(checked(PyList_New(1)));
  PyList_SET_ITEM(handles.get(), 0, Py_NewRef(capsule.get()));
  const Owned tensors(checked(PyObject_CallFunctionObjArgs(facts.take_handles, handles.get(), nullptr)));
  return checked(PySequence_GetItem(tensors.get(), 0));
}

// The Python object of an at::Tensor, as a new reference.
inline PyObject* object_of(const TorchFacts& facts, void* tensor) {
  if (THPVariable_Wrap != nullptr) return checked(THPVariable_Wrap(*static_cast<const at::TensorBase*>(tensor)));
  void* copy = nullptr;
  if (aoti_torch_new_tensor_handle(tensor, &copy) != 0) fail(ErrorKind::runtime, "a tensor cannot be copied");
  return tensor_of_handle(facts, copy);
}

inline void* word_at(const void* start, size_t place) {
  void* word = nullptr;
  std::memcpy(&word, static_cast<const char*>(start) + place, sizeof word);
  return word;
}

// A tensor to look at, and the handle that torch itself makes of it.
class Sample {
 public:
  Sample(PyObject* torch, int64_t rows, int64_t columns)
      : rows_(rows), columns_(columns),
        tensor_(checked(PyObject_CallMethod(torch, "empty", "((LL))", static_cast<long long>(rows),
                                            static_cast<long long>(columns)))) {
    const Owned interop(attribute(torch, "_C"));
    const Owned aoti(attribute(interop.get(), "_aoti"));
    const Owned make(attribute(aoti.get(), "unsafe_alloc_void_ptr_from_tensor"));
    const Owned capsule(checked(PyObject_CallFunctionObjArgs(make.get(), tensor_.get(), nullptr)));
    need(PyCapsule_CheckExact(capsule.get()), "handles are no capsules");
    handle_ = PyCapsule_GetPointer(capsule.get(), PyCapsule_GetName(capsule.get()));
    need(handle_ != nullptr, "an empty handle");
  }
  Sample(const Sample&) = delete;
  Sample& operator=(const Sample&) = delete;
  ~Sample() { aoti_torch_delete_tensor_object(handle_); }

  bool lies_at(size_t place) const { return word_at(tensor_.get(), place) == word_at(handle_, 0); }

  // The Python object, read through the C interface, must say what Python says.
  void compare(size_t place) const {
    void* handle = reinterpret_cast<char*>(tensor_.get()) + place;
    void* data = nullptr;
    int64_t* sizes = nullptr;
    int64_t dim = 0;
    need(aoti_torch_get_data_ptr(handle, &data) == 0 && aoti_torch_get_dim(handle, &dim) == 0 &&
             aoti_torch_get_sizes(handle, &sizes) == 0,
         "tensors cannot be read");
    const Owned address(checked(PyObject_CallMethod(tensor_.get(), "data_ptr", nullptr)));
    need(PyLong_AsVoidPtr(address.get()) == data, "another data_ptr than Python's");
    need(dim == 2 && sizes[0] == rows_ && sizes[1] == columns_, "other sizes than Python's");
  }

  // A copy is one word, as the slim Tensor is.
  void compare_copy() const {
    void* copy = nullptr;
    need(aoti_torch_new_tensor_handle(handle_, &copy) == 0, "tensors cannot be copied");
    const bool same = word_at(copy, 0) == word_at(handle_, 0);
    aoti_torch_delete_tensor_object(copy);
    need(same, "a tensor is more than a word");
  }

  // A tensor becomes the same Python object again, and no reference stays behind.
  void compare_way_back(const TorchFacts& facts) const {
    const long before = uses();
    const Owned back(object_of(facts, handle_));
    need(back.get() == tensor_.get() && uses() == before, "tensors do not become their Python objects");
  }

 private:
  long uses() const {
    const Owned count(checked(PyObject_CallMethod(tensor_.get(), "_use_count", nullptr)));
    return PyLong_AsLong(count.get());
  }

  int64_t rows_;
  int64_t columns_;
  Owned tensor_;
  void* handle_ = nullptr;
};

inline size_t find_place(const TorchFacts& facts) {
  const Sample first(facts.torch, 2, 3);
  const Sample second(facts.torch, 5, 7);
  size_t place = sizeof(PyObject);
  const size_t last = place + 4 * sizeof(void*);
  while (place < last && !(first.lies_at(place) && second.lies_at(place))) place += sizeof(void*);
  need(place < last, "no at::Tensor found behind the Python object");
  first.compare(place);
  second.compare(place);
  first.compare_copy();
  first.compare_way_back(facts);
  return place;
}

inline TorchFacts look_at_torch() {
  check_numbers();
  TorchFacts facts;
  facts.torch = checked(PyImport_ImportModule("torch"));
  facts.tensor_class = reinterpret_cast<PyTypeObject*>(attribute(facts.torch, "Tensor"));
  const Owned interop(attribute(facts.torch, "_C"));
  const Owned aoti(attribute(interop.get(), "_aoti"));
  facts.take_handles = attribute(aoti.get(), "alloc_tensors_by_stealing_from_void_ptrs");
  facts.place = find_place(facts);
  return facts;
}

// Looked at once a module; open_module asks first, and turns what is thrown into an ImportError.
inline const TorchFacts& torch_facts() {
  static const TorchFacts facts = look_at_torch();
  return facts;
}

}  // namespace pkwb::runtime
