// Stands for pybind11/pybind11.h: PYBIND11_MODULE, def, arg and doc.
#pragma once

#include <pkwb/function.h>

namespace pkwb::python {

struct NamedArgument {
  std::string name;
  PyObject* otherwise;
};

class Argument {
 public:
  explicit Argument(const char* name) : name_(name) {}
  template <typename T>
  NamedArgument operator=(T&& value) const {
    return NamedArgument{name_, Caster<std::decay_t<T>>::make(value)};
  }
  operator NamedArgument() const { return NamedArgument{name_, nullptr}; }

 private:
  const char* name_;
};

struct None {};
template <>
struct Caster<None> {
  static PyObject* make(None) { return runtime::make_none(); }
};

template <typename T>
inline constexpr bool is_argument = std::is_same_v<T, Argument> || std::is_same_v<T, NamedArgument>;

class Doc {
 public:
  explicit Doc(PyObject* module) : module_(module) {}
  Doc& operator=(const std::string& text) {
    runtime::set_doc(module_, text);
    return *this;
  }

 private:
  PyObject* module_;
};

class Module {
 public:
  explicit Module(PyObject* module) : module_(module) {}

  template <typename Callable, typename... Extra>
  Module& def(const char* name, Callable&& callable, const Extra&... extra) {
    using Stored = std::decay_t<Callable>;
    constexpr size_t named = (size_t{0} + ... + static_cast<size_t>(is_argument<Extra>));
    static_assert(named == 0 || named == std::tuple_size_v<typename Signature<Stored>::Types>,
                  "py::arg must be given for every argument, or for none");
    Function function = record<Stored>(name, std::forward<Callable>(callable));
    [[maybe_unused]] size_t place = 0;
    (note(function, place, extra), ...);
    runtime::add_function(module_, std::move(function));
    return *this;
  }
  Doc doc() { return Doc(module_); }

 private:
  static void note(Function& function, size_t& place, const NamedArgument& argument) {
    function.parameters[place].name = argument.name;
    function.parameters[place].otherwise = argument.otherwise;
    ++place;
  }
  static void note(Function& function, size_t& place, const Argument& argument) {
    note(function, place, static_cast<NamedArgument>(argument));
  }
  static void note(Function& function, size_t&, const char* doc) { function.doc = doc; }

  PyObject* module_;
};

}  // namespace pkwb::python

namespace pybind11 {
using arg = pkwb::python::Argument;
using none = pkwb::python::None;
using module_ = pkwb::python::Module;
inline namespace literals {
inline arg operator""_a(const char* name, size_t) { return arg(name); }
}  // namespace literals
}  // namespace pybind11

#define PKWB_TEXT_OF(name) #name
#define PKWB_TEXT(name) PKWB_TEXT_OF(name)
#define PKWB_JOIN_OF(a, b) a##b
#define PKWB_JOIN(a, b) PKWB_JOIN_OF(a, b)

// pkwb::python::torch_casters is declared by torch's own Python headers alone: without them there are no tensors.
#define PYBIND11_MODULE(name, variable)                                                        \
  static void PKWB_JOIN(pkwb_fill_, name)(::pybind11::module_ & variable);                     \
  static void PKWB_JOIN(pkwb_open_, name)(PyObject * module) {                                 \
    static_assert(::pkwb::python::torch_casters);                                              \
    ::pybind11::module_ wrapped(module);                                                       \
    PKWB_JOIN(pkwb_fill_, name)(wrapped);                                                      \
  }                                                                                            \
  extern "C" __attribute__((visibility("default"))) PyObject* PKWB_JOIN(PyInit_, name)() {     \
    return ::pkwb::runtime::open_module(PKWB_TEXT(name), &PKWB_JOIN(pkwb_open_, name));        \
  }                                                                                            \
  void PKWB_JOIN(pkwb_fill_, name)(::pybind11::module_ & variable)
