// How a C++ function is kept and called: one record a function, filled in the user's unit, called by the runtime.
#pragma once

#include <pkwb/casters.h>

namespace pkwb::python {

struct Parameter {
  std::string name;  // of a keyword; empty when the module names no arguments
  std::string type;
  PyObject* otherwise = nullptr;  // kept for as long as the process lives
};

struct Function {
  std::string name;
  std::string doc;
  std::string result;
  std::vector<Parameter> parameters;
  void* callable = nullptr;  // kept for as long as the process lives
  // The result as a new reference, or null when an argument does not fit. Throws what the function throws.
  PyObject* (*invoke)(const Function& self, PyObject* const* arguments) = nullptr;
};

// Return and argument types of what can be called.
template <typename T>
struct Signature : Signature<decltype(&T::operator())> {};
template <typename Result, typename... Arguments>
struct Signature<Result (*)(Arguments...)> {
  using Types = std::tuple<Arguments...>;
  using Returned = Result;
};
template <typename Result, typename Class, typename... Arguments>
struct Signature<Result (Class::*)(Arguments...)> : Signature<Result (*)(Arguments...)> {};
template <typename Result, typename Class, typename... Arguments>
struct Signature<Result (Class::*)(Arguments...) const> : Signature<Result (*)(Arguments...)> {};

// A loaded value as the function wants it: moved into a value, or referred to.
template <typename Wanted>
decltype(auto) passed(Bare<Wanted>& value) {
  if constexpr (std::is_lvalue_reference_v<Wanted>) {
    return static_cast<Wanted>(value);
  } else {
    return std::move(value);
  }
}

template <typename Callable, typename Result, typename... Arguments, size_t... Place>
PyObject* invoke(Callable& callable, PyObject* const* objects, std::tuple<Arguments...>*, Result*,
                 std::index_sequence<Place...>) {
  (void)objects;
  std::tuple<Bare<Arguments>...> values;
  if (!(Caster<Bare<Arguments>>::load(objects[Place], std::get<Place>(values)) && ...)) return nullptr;
  if constexpr (std::is_void_v<Result>) {
    callable(passed<Arguments>(std::get<Place>(values))...);
    return runtime::make_none();
  } else {
    return Caster<Bare<Result>>::make(callable(passed<Arguments>(std::get<Place>(values))...));
  }
}

template <typename Callable>
PyObject* invoke_erased(const Function& self, PyObject* const* objects) {
  using Types = typename Signature<Callable>::Types;
  using Result = std::remove_reference_t<typename Signature<Callable>::Returned>;
  return invoke(*static_cast<Callable*>(self.callable), objects, static_cast<Types*>(nullptr),
                static_cast<Result*>(nullptr), std::make_index_sequence<std::tuple_size_v<Types>>());
}

template <typename... Arguments>
std::vector<Parameter> unnamed_parameters(std::tuple<Arguments...>*) {
  return {Parameter{"", Caster<Bare<Arguments>>::name()}...};
}

template <typename Callable>
Function record(std::string name, Callable callable) {
  using Types = typename Signature<Callable>::Types;
  Function function;
  function.name = std::move(name);
  function.result = ResultName<typename Signature<Callable>::Returned>::name();
  function.parameters = unnamed_parameters(static_cast<Types*>(nullptr));
  function.callable = new Callable(std::move(callable));
  function.invoke = &invoke_erased<Callable>;
  return function;
}

}  // namespace pkwb::python

namespace pkwb::runtime {
// Puts a function into a module. Throws when the module already has that name.
void add_function(PyObject* module, python::Function function);
void set_doc(PyObject* module, const std::string& text);
// The body of PyInit_<name>: checks that torch is what the slim headers take it for, then fills a new module.
PyObject* open_module(const char* name, void (*fill)(PyObject* module));
}  // namespace pkwb::runtime
