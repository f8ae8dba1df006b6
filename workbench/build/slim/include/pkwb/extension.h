// Stands for torch/extension.h: tensors, and what makes a Python module of functions on them.
#pragma once

#include <pkwb/base.h>
#include <pkwb/module.h>

namespace pkwb::python {
inline constexpr bool torch_casters = true;
}  // namespace pkwb::python

namespace py = pybind11;

namespace torch {
// torch's errors keep their Python class in every slim module.
template <typename Callable>
auto wrap_pybind_function(Callable&& callable) {
  return std::forward<Callable>(callable);
}
}  // namespace torch
