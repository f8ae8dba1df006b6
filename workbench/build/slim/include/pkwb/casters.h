// Stands for pybind11's and torch's type casters: how a Python object becomes a C++ value, and back.
#pragma once

#include <pkwb/tensor.h>

namespace pkwb::python {

// Caster<T>::load fills value, or says that the object does not fit; make gives a new reference; name is for messages.
// A type without a specialisation is left to the full build: it does not compile.
template <typename T, typename = void>
struct Caster;

template <typename T>
using Bare = std::remove_cv_t<std::remove_reference_t<T>>;

template <>
struct Caster<Tensor> {
  static std::string name() { return "torch.Tensor"; }
  static bool load(PyObject* object, Tensor& value) { return runtime::load(object, value); }
  static PyObject* make(const Tensor& value) { return runtime::make(value); }
};

template <>
struct Caster<bool> {
  static std::string name() { return "bool"; }
  static bool load(PyObject* object, bool& value) { return runtime::load(object, value); }
  static PyObject* make(bool value) { return runtime::make(value); }
};

template <typename T>
inline constexpr bool is_character = std::is_same_v<T, char> || std::is_same_v<T, wchar_t> ||
                                     std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;

template <typename T>
struct Caster<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool> && !is_character<T>>> {
  static std::string name() { return "int"; }
  static bool load(PyObject* object, T& value) {
    using Wide = std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>;
    Wide wide = 0;
    if constexpr (std::is_signed_v<T>) {
      if (!runtime::load_signed(object, wide)) return false;
    } else {
      if (!runtime::load_unsigned(object, wide)) return false;
    }
    value = static_cast<T>(wide);
    return static_cast<Wide>(value) == wide;
  }
  static PyObject* make(T value) {
    if constexpr (std::is_signed_v<T>) {
      return runtime::make_signed(value);
    } else {
      return runtime::make_unsigned(value);
    }
  }
};

template <typename T>
struct Caster<T, std::enable_if_t<std::is_same_v<T, float> || std::is_same_v<T, double>>> {
  static std::string name() { return "float"; }
  static bool load(PyObject* object, T& value) {
    double wide = 0;
    if (!runtime::load(object, wide)) return false;
    value = static_cast<T>(wide);
    return true;
  }
  static PyObject* make(T value) { return runtime::make(static_cast<double>(value)); }
};

template <>
struct Caster<std::string> {
  static std::string name() { return "str"; }
  static bool load(PyObject* object, std::string& value) { return runtime::load(object, value); }
  static PyObject* make(const std::string& value) { return runtime::make(value); }
};

// Results only.
template <>
struct Caster<const char*> {
  static std::string name() { return "str"; }
  static PyObject* make(const char* value) {
    return value == nullptr ? runtime::make_none() : runtime::make(std::string(value));
  }
};
template <>
struct Caster<ScalarType> {
  static std::string name() { return "torch.dtype"; }
  static PyObject* make(ScalarType value) { return runtime::make(value); }
};
template <>
struct Caster<std::nullopt_t> {
  static std::string name() { return "None"; }
  static PyObject* make(std::nullopt_t) { return runtime::make_none(); }
};

template <typename T>
struct Caster<std::optional<T>> {
  static std::string name() { return Caster<T>::name() + " | None"; }
  static bool load(PyObject* object, std::optional<T>& value) {
    value.reset();
    if (runtime::is_none(object)) return true;
    T inner{};
    if (!Caster<T>::load(object, inner)) return false;
    value = std::move(inner);
    return true;
  }
  static PyObject* make(const std::optional<T>& value) {
    return value.has_value() ? Caster<T>::make(*value) : runtime::make_none();
  }
};

// A reference that is given up at the end of a block.
class Held {
 public:
  explicit Held(PyObject* object) : object_(object) {}
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() {
    if (object_ != nullptr) runtime::release(object_);
  }
  PyObject* get() const { return object_; }

 private:
  PyObject* object_;
};

template <typename T>
struct Caster<std::vector<T>> {
  static std::string name() { return "collections.abc.Sequence[" + Caster<T>::name() + "]"; }
  static bool load(PyObject* object, std::vector<T>& value) {
    const Held list(runtime::elements(object));
    if (list.get() == nullptr) return false;
    value.clear();
    for (size_t i = 0; i < runtime::count(list.get()); ++i) {
      T item{};
      if (!Caster<T>::load(runtime::element(list.get(), i), item)) return false;
      value.push_back(std::move(item));
    }
    return true;
  }
  static PyObject* make(const std::vector<T>& value) {
    std::vector<PyObject*> items;
    for (const auto& item : value) items.push_back(Caster<T>::make(item));
    return runtime::make_list_object(items);
  }
};

template <typename... T>
struct Caster<std::tuple<T...>> {
  static std::string name() {
    std::string names;
    ((names += (names.empty() ? "" : ", ") + Caster<Bare<T>>::name()), ...);
    return "tuple[" + names + "]";
  }
  static PyObject* make(const std::tuple<T...>& value) {
    return std::apply(
        [](const auto&... items) {
          return runtime::make_tuple_object({Caster<Bare<decltype(items)>>::make(items)...});
        },
        value);
  }
};

template <typename First, typename Second>
struct Caster<std::pair<First, Second>> : Caster<std::tuple<First, Second>> {
  static PyObject* make(const std::pair<First, Second>& value) {
    return Caster<std::tuple<First, Second>>::make(std::tuple<First, Second>(value));
  }
};

template <typename T>
struct ResultName {
  static std::string name() { return Caster<Bare<T>>::name(); }
};
template <>
struct ResultName<void> {
  static std::string name() { return "None"; }
};

}  // namespace pkwb::python
