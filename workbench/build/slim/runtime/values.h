// Python objects to C++ values and back, by pybind11's rules.
#pragma once

#include "torch_facts.h"

#include <pkwb/tensor.h>

#include <map>

namespace pkwb::runtime {

bool load(PyObject* object, Tensor& value) {
  const TorchFacts& facts = torch_facts();
  if (!PyObject_TypeCheck(object, facts.tensor_class)) return false;
  value = *reinterpret_cast<const Tensor*>(reinterpret_cast<const char*>(object) + facts.place);
  return true;
}

bool load(PyObject* object, bool& value) {
  if (object == Py_True || object == Py_False || object == Py_None) {
    value = object == Py_True;
    return true;
  }
  const PyNumberMethods* numbers = Py_TYPE(object)->tp_as_number;
  if (numbers == nullptr || numbers->nb_bool == nullptr) return false;
  const int answer = numbers->nb_bool(object);
  PyErr_Clear();
  value = answer == 1;
  return answer == 0 || answer == 1;
}

bool load(PyObject* object, double& value) {
  value = PyFloat_AsDouble(object);
  if (value != -1.0 || PyErr_Occurred() == nullptr) return true;
  PyErr_Clear();
  if (!PyNumber_Check(object)) return false;
  const Owned number(PyNumber_Float(object));
  PyErr_Clear();
  if (!number) return false;
  value = PyFloat_AsDouble(number.get());
  return true;
}

// A Python int with the object's value: floats never, things that can be an index, or at least an int, always.
static Owned whole_number(PyObject* object) {
  if (PyFloat_Check(object)) return Owned(nullptr);
  Owned index(PyNumber_Index(object));
  PyErr_Clear();
  if (index || !PyNumber_Check(object)) return index;
  Owned number(PyNumber_Long(object));
  PyErr_Clear();
  return number;
}

bool load_signed(PyObject* object, int64_t& value) {
  const Owned number = whole_number(object);
  if (!number) return false;
  value = PyLong_AsLongLong(number.get());
  const bool fits = value != -1 || PyErr_Occurred() == nullptr;
  PyErr_Clear();
  return fits;
}

bool load_unsigned(PyObject* object, uint64_t& value) {
  const Owned number = whole_number(object);
  if (!number) return false;
  value = PyLong_AsUnsignedLongLong(number.get());
  const bool fits = value != static_cast<uint64_t>(-1) || PyErr_Occurred() == nullptr;
  PyErr_Clear();
  return fits;
}

bool load(PyObject* object, std::string& value) {
  char* bytes = nullptr;
  Py_ssize_t size = 0;
  if (PyUnicode_Check(object)) {
    bytes = const_cast<char*>(PyUnicode_AsUTF8AndSize(object, &size));
  } else if (PyBytes_Check(object)) {
    PyBytes_AsStringAndSize(object, &bytes, &size);
  } else if (PyByteArray_Check(object)) {
    bytes = PyByteArray_AsString(object);
    size = PyByteArray_Size(object);
  }
  PyErr_Clear();
  if (bytes == nullptr) return false;
  value.assign(bytes, static_cast<size_t>(size));
  return true;
}

bool is_none(PyObject* object) { return object == Py_None; }

// Strings are no sequences of arguments; sets, generators and views of dictionaries are.
static bool counts_as_sequence(PyObject* object) {
  if (PyUnicode_Check(object) || PyBytes_Check(object)) return false;
  if (PySequence_Check(object) || PyGen_Check(object) || PyAnySet_Check(object)) return true;
  const std::string_view name = Py_TYPE(object)->tp_name;
  return name == "dict_keys" || name == "dict_values" || name == "dict_items" || name == "map" || name == "zip";
}

PyObject* elements(PyObject* object) {
  if (!counts_as_sequence(object)) return nullptr;
  PyObject* list = PySequence_List(object);
  if (list == nullptr) throw PythonError();
  return list;
}

PyObject* element(PyObject* list, size_t place) { return PyList_GET_ITEM(list, static_cast<Py_ssize_t>(place)); }
size_t count(PyObject* list) { return static_cast<size_t>(PyList_GET_SIZE(list)); }

PyObject* make(const Tensor& value) {
  if (!value.defined()) return make_none();
  return object_of(torch_facts(), value.handle());
}

static PyObject* dtype_of(ScalarType type) {
  static const std::map<ScalarType, const char*> names = {
      {ScalarType::Byte, "uint8"},         {ScalarType::Char, "int8"},
      {ScalarType::Short, "int16"},        {ScalarType::Int, "int32"},
      {ScalarType::Long, "int64"},         {ScalarType::Half, "float16"},
      {ScalarType::Float, "float32"},      {ScalarType::Double, "float64"},
      {ScalarType::ComplexHalf, "complex32"}, {ScalarType::ComplexFloat, "complex64"},
      {ScalarType::ComplexDouble, "complex128"}, {ScalarType::Bool, "bool"},
      {ScalarType::BFloat16, "bfloat16"},  {ScalarType::UInt16, "uint16"},
      {ScalarType::UInt32, "uint32"},      {ScalarType::UInt64, "uint64"},
      {ScalarType::Float8_e5m2, "float8_e5m2"}, {ScalarType::Float8_e4m3fn, "float8_e4m3fn"},
      {ScalarType::Float8_e5m2fnuz, "float8_e5m2fnuz"}, {ScalarType::Float8_e4m3fnuz, "float8_e4m3fnuz"},
  };
  const auto found = names.find(type);
  TORCH_CHECK(found != names.end(), "no torch.dtype for ", type);
  return checked(PyObject_GetAttrString(torch_facts().torch, found->second));
}

PyObject* make(bool value) { return checked(PyBool_FromLong(value)); }
PyObject* make(double value) { return checked(PyFloat_FromDouble(value)); }
PyObject* make(const std::string& value) {
  return checked(PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), nullptr));
}
PyObject* make(ScalarType value) { return dtype_of(value); }
PyObject* make_signed(int64_t value) { return checked(PyLong_FromLongLong(value)); }
PyObject* make_unsigned(uint64_t value) { return checked(PyLong_FromUnsignedLongLong(value)); }
PyObject* make_none() {
  Py_INCREF(Py_None);
  return Py_None;
}

PyObject* make_list_object(const std::vector<PyObject*>& items) {
  PyObject* list = checked(PyList_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i) PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), items[i]);
  return list;
}

PyObject* make_tuple_object(const std::vector<PyObject*>& items) {
  PyObject* tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
  for (size_t i = 0; i < items.size(); ++i) PyTuple_SET_ITEM(tuple, static_cast<Py_ssize_t>(i), items[i]);
  return tuple;
}

void release(PyObject* object) { Py_DECREF(object); }

}  // namespace pkwb::runtime
