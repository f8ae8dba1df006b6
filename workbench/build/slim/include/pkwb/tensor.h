// Stands for at::Tensor: like it, one word that refers to torch's own tensor. Every question is put to torch at once.
#pragma once

#include <pkwb/options.h>
#include <pkwb/runtime.h>
#include <pkwb/scalar_type.h>

namespace pkwb {

template <typename T>
struct Item;
#define PKWB_ITEM(number, function)                                                            \
  template <>                                                                                  \
  struct Item<number> {                                                                        \
    static int32_t read(void* tensor, number* value) { return function(tensor, value); }       \
  };
PKWB_ITEM(float, aoti_torch_item_float32)
PKWB_ITEM(double, aoti_torch_item_float64)
PKWB_ITEM(int32_t, aoti_torch_item_int32)
PKWB_ITEM(int64_t, aoti_torch_item_int64)
PKWB_ITEM(bool, aoti_torch_item_bool)
#undef PKWB_ITEM

class Tensor {
 public:
  Tensor() : word_(runtime::undefined_word()) {}
  Tensor(const Tensor& other) : Tensor() { assign(other); }
  Tensor(Tensor&& other) noexcept : Tensor() { std::swap(word_, other.word_); }
  Tensor& operator=(const Tensor& other) {
    assign(other);
    return *this;
  }
  Tensor& operator=(Tensor&& other) noexcept {
    std::swap(word_, other.word_);
    return *this;
  }
  ~Tensor() {
    if (defined()) reset();
  }

  bool defined() const { return word_ != runtime::undefined_word(); }
  bool is_same(const Tensor& other) const { return word_ == other.word_; }
  void reset() { assign(Tensor()); }

  int64_t dim() const { return number(aoti_torch_get_dim, "dim"); }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return number(aoti_torch_get_numel, "numel"); }
  int64_t storage_offset() const { return number(aoti_torch_get_storage_offset, "storage_offset"); }
  IntArrayRef sizes() const { return numbers(aoti_torch_get_sizes, "sizes"); }
  IntArrayRef strides() const { return numbers(aoti_torch_get_strides, "strides"); }
  int64_t size(int64_t place) const { return sizes()[wrapped(place)]; }
  int64_t stride(int64_t place) const { return strides()[wrapped(place)]; }

  ScalarType scalar_type() const { return static_cast<ScalarType>(code(aoti_torch_get_dtype, "dtype")); }
  TypeMeta dtype() const { return TypeMeta(scalar_type()); }
  int64_t element_size() const { return static_cast<int64_t>(known(scalar_type()).bytes); }
  int64_t itemsize() const { return element_size(); }
  size_t nbytes() const {
    TORCH_CHECK(code(aoti_torch_get_layout, "layout") == aoti_torch_layout_strided(),
                "nbytes is not defined for sparse tensors.");
    return static_cast<size_t>(numel() * element_size());
  }
  bool is_contiguous() const {
    bool contiguous = false;
    runtime::check(aoti_torch_is_contiguous(handle(), &contiguous), "is_contiguous");
    return contiguous;
  }

  bool is_cuda() const { return defined() && device_type() == kCUDA; }
  bool is_cpu() const { return defined() && device_type() == kCPU; }
  Device device() const { return Device(device_type(), device_index()); }
  int64_t get_device() const { return device_index(); }
  TensorOptions options() const { return TensorOptions().dtype(scalar_type()).device(device()); }

  void* data_ptr() const {
    void* data = nullptr;
    runtime::check(aoti_torch_get_data_ptr(handle(), &data), "data_ptr");
    return data;
  }
  const void* const_data_ptr() const { return data_ptr(); }
  void* mutable_data_ptr() const { return data_ptr(); }
  template <typename T>
  T* data_ptr() const {
    constexpr ScalarType wanted = ScalarTypeOf<T>::value;
    const ScalarType found = scalar_type();
    TORCH_CHECK(found == wanted, "expected scalar type ", wanted, " but found ", found);
    return static_cast<T*>(data_ptr());
  }
  template <typename T>
  const T* const_data_ptr() const { return data_ptr<std::remove_const_t<T>>(); }
  template <typename T>
  T* mutable_data_ptr() const { return data_ptr<T>(); }

  Tensor contiguous() const { return is_contiguous() ? *this : runtime::call(this, "contiguous", {}); }
  Tensor clone() const { return runtime::call(this, "clone", {}); }
  Tensor cpu() const { return runtime::call(this, "cpu", {}); }
  Tensor view(IntArrayRef sizes) const { return runtime::call(this, "view", {sizes}); }
  Tensor reshape(IntArrayRef sizes) const { return runtime::call(this, "reshape", {sizes}); }
  Tensor cuda() const { return runtime::call(this, "cuda", {}); }
  Tensor to(ScalarType type, bool non_blocking = false, bool copy = false) const {
    return to(TensorOptions(type), non_blocking, copy);
  }
  Tensor to(Device device, ScalarType type, bool non_blocking = false, bool copy = false) const {
    return to(TensorOptions(type).device(device), non_blocking, copy);
  }
  Tensor to(const TensorOptions& options, bool non_blocking = false, bool copy = false) const {
    std::vector<runtime::Value> values = runtime::named_values(options);
    values.push_back(runtime::Value(non_blocking).named("non_blocking"));
    values.push_back(runtime::Value(copy).named("copy"));
    return runtime::call(this, "to", values);
  }
  Tensor& zero_() const { return in_place("zero_", {}); }
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Tensor& fill_(T value) const {
    using Wide = std::conditional_t<std::is_same_v<T, bool>, bool,
                                    std::conditional_t<std::is_floating_point_v<T>, double, int64_t>>;
    return in_place("fill_", {runtime::Value(static_cast<Wide>(value))});
  }
  Tensor& copy_(const Tensor& source, bool non_blocking = false) const {
    return in_place("copy_", {source, non_blocking});
  }

  // The one element, as the type that is asked for; waits for the device.
  template <typename T>
  T item() const {
    T value{};
    runtime::check(Item<T>::read(handle(), &value), "item");
    return value;
  }

  void* handle() const { return const_cast<Tensor*>(this); }
  // Takes over a handle that torch's C interface made.
  static Tensor from_handle(void* made) {
    Tensor tensor;
    std::swap(tensor.word_, *static_cast<void**>(made));
    aoti_torch_delete_tensor_object(made);
    return tensor;
  }

 private:
  void assign(const Tensor& other) { runtime::check(aoti_torch_assign_tensors(other.handle(), handle()), "copy"); }

  template <typename Question>
  int64_t number(Question question, const char* what) const {
    int64_t answer = 0;
    runtime::check(question(handle(), &answer), what);
    return answer;
  }
  template <typename Question>
  int32_t code(Question question, const char* what) const {
    int32_t answer = 0;
    runtime::check(question(handle(), &answer), what);
    return answer;
  }
  template <typename Question>
  IntArrayRef numbers(Question question, const char* what) const {
    int64_t* answer = nullptr;
    runtime::check(question(handle(), &answer), what);
    return IntArrayRef(answer, static_cast<size_t>(dim()));
  }
  static ScalarTypeFacts known(ScalarType type) {
    const ScalarTypeFacts facts = facts_of(type);
    TORCH_CHECK(facts.bytes != 0, "this kind of number has no known size: ", static_cast<int>(type));
    return facts;
  }
  DeviceType device_type() const { return static_cast<DeviceType>(code(aoti_torch_get_device_type, "device")); }
  DeviceIndex device_index() const { return static_cast<DeviceIndex>(code(aoti_torch_get_device_index, "device")); }
  size_t wrapped(int64_t place) const {
    const int64_t last = std::max<int64_t>(dim(), 1) - 1;
    TORCH_CHECK_INDEX(dim() > 0, "Dimension specified as ", place, " but tensor has no dimensions");
    TORCH_CHECK_INDEX(place >= -last - 1 && place <= last, "Dimension out of range (expected to be in range of [",
                      -last - 1, ", ", last, "], but got ", place, ")");
    return static_cast<size_t>(place < 0 ? place + last + 1 : place);
  }
  Tensor& in_place(const char* name, const std::vector<runtime::Value>& values) const {
    runtime::call(this, name, values);
    return const_cast<Tensor&>(*this);
  }

  void* word_;
};

inline std::optional<Device> device_of(const Tensor& tensor) {
  return tensor.defined() ? std::optional<Device>(tensor.device()) : std::nullopt;
}

}  // namespace pkwb
