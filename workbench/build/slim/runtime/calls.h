// Calls of functions from Python, and calls of torch's functions through Python.
#pragma once

#include "values.h"

#include <pkwb/function.h>

namespace pkwb::runtime {

using python::Function;
using python::Parameter;

static std::string repr(PyObject* object) {
  const Owned text(PyObject_Repr(object));
  const char* bytes = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
  PyErr_Clear();
  return bytes != nullptr ? bytes : "?";
}

static std::string signature(const Function& function) {
  std::string text = "(";
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const Parameter& parameter = function.parameters[i];
    text += (i ? ", " : "") + (parameter.name.empty() ? "arg" + std::to_string(i) : parameter.name);
    text += ": " + parameter.type;
    if (parameter.otherwise != nullptr) text += " = " + repr(parameter.otherwise);
  }
  return text + ") -> " + function.result;
}

static PyObject* raise_misfit(const Function& function, PyObject* const* given, size_t positional, PyObject* keywords) {
  std::string text = function.name + "(): incompatible function arguments. The following argument types are " +
                     "supported:\n    1. " + signature(function) + "\n\nInvoked with: ";
  for (size_t i = 0; i < positional; ++i) text += (i ? ", " : "") + repr(given[i]);
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < named; ++i) {
    text += i > 0 ? ", " : positional > 0 ? "; kwargs: " : "kwargs: ";
    text += PyUnicode_AsUTF8(PyTuple_GET_ITEM(keywords, i));
    text += "=" + repr(given[positional + static_cast<size_t>(i)]);
  }
  PyErr_SetString(PyExc_TypeError, text.c_str());
  return nullptr;
}

// Puts a keyword's value where it belongs: false when there is no such place, or it is taken.
static bool place_keyword(const Function& function, PyObject* keyword, PyObject* value, PyObject** placed) {
  for (size_t i = 0; i < function.parameters.size(); ++i) {
    const std::string& name = function.parameters[i].name;
    if (name.empty() || PyUnicode_CompareWithASCIIString(keyword, name.c_str()) != 0) continue;
    if (placed[i] != nullptr) return false;
    placed[i] = value;
    return true;
  }
  return false;
}

static bool place_all(const Function& function, PyObject* const* given, size_t positional, PyObject* keywords,
                      PyObject** placed) {
  const size_t wanted = function.parameters.size();
  if (positional > wanted) return false;
  std::copy(given, given + positional, placed);
  const Py_ssize_t named = keywords == nullptr ? 0 : PyTuple_GET_SIZE(keywords);
  for (Py_ssize_t i = 0; i < named; ++i) {
    PyObject* value = given[positional + static_cast<size_t>(i)];
    if (!place_keyword(function, PyTuple_GET_ITEM(keywords, i), value, placed)) return false;
  }
  for (size_t i = 0; i < wanted; ++i) {
    if (placed[i] == nullptr) placed[i] = function.parameters[i].otherwise;
    if (placed[i] == nullptr) return false;
  }
  return true;
}

static PyObject* call_function(PyObject* self, PyObject* const* given, Py_ssize_t count, PyObject* keywords) {
  const auto* function = static_cast<const Function*>(PyCapsule_GetPointer(self, nullptr));
  if (function == nullptr) return nullptr;
  const auto positional = static_cast<size_t>(PyVectorcall_NARGS(static_cast<size_t>(count)));
  try {
    constexpr size_t few = 16;
    PyObject* on_stack[few] = {};
    std::vector<PyObject*> many(function->parameters.size() > few ? function->parameters.size() : 0);
    PyObject** placed = many.empty() ? on_stack : many.data();
    PyObject* result = nullptr;
    if (place_all(*function, given, positional, keywords, placed)) result = function->invoke(*function, placed);
    return result != nullptr ? result : raise_misfit(*function, given, positional, keywords);
  } catch (...) {
    return raise_current();
  }
}

static PyObject* python_value(const Value& value) {
  switch (value.kind) {
    case Value::Kind::tensor: return make(*value.tensor);
    case Value::Kind::integer: return make_signed(value.integer);
    case Value::Kind::real: return make(value.real);
    case Value::Kind::boolean: return make(value.integer != 0);
    case Value::Kind::scalar_type: return make(value.scalar_type);
    case Value::Kind::device: return make(value.device.str());
    case Value::Kind::integers: break;
  }
  std::vector<PyObject*> items;
  for (const int64_t item : value.integers) items.push_back(make_signed(item));
  return make_tuple_object(items);
}

Tensor call(const Tensor* self, const char* name, const std::vector<Value>& values) {
  const Owned owner(self != nullptr ? make(*self) : Py_NewRef(torch_facts().torch));
  const Owned function(checked(PyObject_GetAttrString(owner.get(), name)));
  const Owned keywords(checked(PyDict_New()));
  std::vector<PyObject*> positional;
  for (const Value& value : values) {
    if (value.keyword == nullptr) {
      positional.push_back(python_value(value));
    } else {
      const Owned object(python_value(value));
      if (PyDict_SetItemString(keywords.get(), value.keyword, object.get()) != 0) throw PythonError();
    }
  }
  const Owned arguments(make_tuple_object(positional));
  const Owned answer(checked(PyObject_Call(function.get(), arguments.get(), keywords.get())));
  Tensor result;
  TORCH_CHECK(load(answer.get(), result), "torch's ", name, " gave no tensor");
  return result;
}

void* blas_handle() {
  const Owned cuda(checked(PyObject_GetAttrString(torch_facts().torch, "cuda")));
  const Owned handle(checked(PyObject_CallMethod(cuda.get(), "current_blas_handle", nullptr)));
  return PyLong_AsVoidPtr(handle.get());
}

}  // namespace pkwb::runtime
