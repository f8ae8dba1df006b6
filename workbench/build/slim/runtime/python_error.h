// Python errors as C++ exceptions, and the other way round.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <pkwb/error.h>

#include <memory>
#include <new>

namespace pkwb::runtime {

// A new reference that is given up at the end of a block.
class Owned {
 public:
  explicit Owned(PyObject* object) : object_(object) {}
  Owned(Owned&& other) noexcept : object_(other.give()) {}
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() { Py_XDECREF(object_); }
  PyObject* get() const { return object_; }
  PyObject* give() {
    PyObject* object = object_;
    object_ = nullptr;
    return object;
  }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  PyObject* object_;
};

// The Python error that is set, taken off the interpreter.
class PythonError : public Error {
 public:
  PythonError() : PythonError(fetch()) {}
  void restore() const { PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error_.get())), error_.get()); }

 private:
  explicit PythonError(PyObject* error) : Error(ErrorKind::runtime, words(error)), error_(error, &drop) {}
  static PyObject* fetch() {
    PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    Py_XDECREF(type);
    Py_XDECREF(traceback);
    if (value == nullptr) value = PyObject_CallFunction(PyExc_SystemError, "s", "an error without a value");
    return value;
  }
  static std::string words(PyObject* error) {
    const Owned text(PyObject_Str(error));
    const char* bytes = text ? PyUnicode_AsUTF8(text.get()) : nullptr;
    PyErr_Clear();
    return bytes != nullptr ? bytes : "a Python error";
  }
  static void drop(PyObject* error) { Py_XDECREF(error); }

  std::shared_ptr<PyObject> error_;
};

// A new reference from a Python call, or its error as an exception.
inline PyObject* checked(PyObject* object) {
  if (object == nullptr) throw PythonError();
  return object;
}

inline void raise_accelerator_error(const Error& error) {
  const Owned torch(PyImport_ImportModule("torch"));
  const Owned found(torch ? PyObject_GetAttrString(torch.get(), "AcceleratorError") : nullptr);
  PyErr_Clear();
  PyObject* type = found ? found.get() : PyExc_RuntimeError;
  const Owned value(PyObject_CallFunction(type, "s", error.what()));
  if (!value) return;
  const Owned code(PyLong_FromLong(error.pkwb_code()));
  if (found && PyObject_SetAttrString(value.get(), "error_code", code.get()) != 0) PyErr_Clear();
  PyErr_SetObject(type, value.get());
}

inline void raise_error(const Error& error) {
  switch (error.pkwb_kind()) {
    case ErrorKind::index: return PyErr_SetString(PyExc_IndexError, error.what());
    case ErrorKind::value: return PyErr_SetString(PyExc_ValueError, error.what());
    case ErrorKind::type: return PyErr_SetString(PyExc_TypeError, error.what());
    case ErrorKind::not_implemented: return PyErr_SetString(PyExc_NotImplementedError, error.what());
    case ErrorKind::accelerator: return raise_accelerator_error(error);
    case ErrorKind::runtime: return PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

// Inside a catch block: sets the Python error that pybind11 and torch make of the exception. Always null.
inline PyObject* raise_current() {
  try {
    throw;
  } catch (const PythonError& error) {
    error.restore();
  } catch (const Error& error) {
    raise_error(error);
  } catch (const std::bad_alloc& error) {
    PyErr_SetString(PyExc_MemoryError, error.what());
  } catch (const std::out_of_range& error) {
    PyErr_SetString(PyExc_IndexError, error.what());
  } catch (const std::domain_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::invalid_argument& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::length_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::range_error& error) {
    PyErr_SetString(PyExc_ValueError, error.what());
  } catch (const std::overflow_error& error) {
    PyErr_SetString(PyExc_OverflowError, error.what());
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "Caught an unknown exception!");
  }
  return nullptr;
}

}  // namespace pkwb::runtime
