// What the runtime, the one unit of a slim module that knows Python, does for the others.
#pragma once

#include <pkwb/array_ref.h>
#include <pkwb/device.h>
#include <pkwb/options.h>
#include <pkwb/scalar_type.h>
#include <pkwb/shim.h>

typedef struct _object PyObject;

namespace pkwb {

class Tensor;

namespace runtime {

// An argument of a torch function that is called through Python.
struct Value {
  enum class Kind { tensor, integer, real, boolean, integers, scalar_type, device } kind;
  const Tensor* tensor = nullptr;
  int64_t integer = 0;
  double real = 0;
  IntArrayRef integers{};
  ScalarType scalar_type{};
  Device device{kCPU};
  const char* keyword = nullptr;

  Value(const Tensor& value) : kind(Kind::tensor), tensor(&value) {}
  Value(int64_t value) : kind(Kind::integer), integer(value) {}
  Value(double value) : kind(Kind::real), real(value) {}
  Value(bool value) : kind(Kind::boolean), integer(value) {}
  Value(IntArrayRef value) : kind(Kind::integers), integers(value) {}
  Value(ScalarType value) : kind(Kind::scalar_type), scalar_type(value) {}
  Value(Device value) : kind(Kind::device), device(value) {}
  Value named(const char* name) const {
    Value copy = *this;
    copy.keyword = name;
    return copy;
  }
};

// What options ask for, as keywords.
inline std::vector<Value> named_values(const TensorOptions& options) {
  std::vector<Value> values;
  if (const auto type = options.pkwb_scalar_type()) values.push_back(Value(*type).named("dtype"));
  if (const auto device = options.pkwb_device()) values.push_back(Value(*device).named("device"));
  return values;
}

// The word of an at::Tensor that refers to no tensor.
void* undefined_word();

// Throws what torch said about the call of its C interface that just failed.
[[noreturn]] void refused(const char* what);
inline void check(int32_t failed, const char* what) {
  if (__builtin_expect(failed != 0, 0)) refused(what);
}

// torch.<name>(values...) or, with a tensor in front, tensor.<name>(values...). Throws the Python error.
Tensor call(const Tensor* self, const char* name, const std::vector<Value>& values);

// torch.cuda.current_blas_handle(): a cublasHandle_t.
void* blas_handle();

// Python to C++: false when the object does not fit, with no Python error set.
bool load(PyObject* object, Tensor& value);
bool load(PyObject* object, bool& value);
bool load(PyObject* object, double& value);
bool load(PyObject* object, std::string& value);
bool load_signed(PyObject* object, int64_t& value);
bool load_unsigned(PyObject* object, uint64_t& value);
bool is_none(PyObject* object);
// The elements of what counts as a sequence, as a new list; null when it is none.
PyObject* elements(PyObject* object);
PyObject* element(PyObject* list, size_t place);
size_t count(PyObject* list);

// C++ to Python: a new reference. Throws the Python error.
PyObject* make(const Tensor& value);
PyObject* make(bool value);
PyObject* make(double value);
PyObject* make(const std::string& value);
PyObject* make(ScalarType value);
PyObject* make_signed(int64_t value);
PyObject* make_unsigned(uint64_t value);
PyObject* make_none();
// A list or a tuple of new references, which it takes over.
PyObject* make_list_object(const std::vector<PyObject*>& items);
PyObject* make_tuple_object(const std::vector<PyObject*>& items);
void release(PyObject* object);

}  // namespace runtime
}  // namespace pkwb
