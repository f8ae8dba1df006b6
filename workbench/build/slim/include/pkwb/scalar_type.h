// Stands for c10/core/ScalarType.h and caffe2's TypeMeta: which kind of number a tensor holds.
#pragma once

#include <pkwb/standard.h>

// Position in the list = torch's own number of the type; the runtime compares both when a module is loaded.
// PKWB_SCALAR_TYPES(use): use(name, bytes, name that TypeMeta prints)
#define PKWB_SCALAR_TYPES(use)                  \
  use(Byte, 1, "unsigned char")                 \
  use(Char, 1, "signed char")                   \
  use(Short, 2, "short int")                    \
  use(Int, 4, "int")                            \
  use(Long, 8, "long int")                      \
  use(Half, 2, "c10::Half")                     \
  use(Float, 4, "float")                        \
  use(Double, 8, "double")                      \
  use(ComplexHalf, 4, "c10::complex<c10::Half>") \
  use(ComplexFloat, 8, "c10::complex<float>")   \
  use(ComplexDouble, 16, "c10::complex<double>") \
  use(Bool, 1, "bool")                          \
  use(QInt8, 1, "c10::qint8")                   \
  use(QUInt8, 1, "c10::quint8")                 \
  use(QInt32, 4, "c10::qint32")                 \
  use(BFloat16, 2, "c10::BFloat16")             \
  use(QUInt4x2, 1, "c10::quint4x2")             \
  use(QUInt2x4, 1, "c10::quint2x4")             \
  use(Bits1x8, 1, "c10::bits1x8")               \
  use(Bits2x4, 1, "c10::bits2x4")               \
  use(Bits4x2, 1, "c10::bits4x2")               \
  use(Bits8, 1, "c10::bits8")                   \
  use(Bits16, 2, "c10::bits16")                 \
  use(Float8_e5m2, 1, "c10::Float8_e5m2")       \
  use(Float8_e4m3fn, 1, "c10::Float8_e4m3fn")   \
  use(Float8_e5m2fnuz, 1, "c10::Float8_e5m2fnuz") \
  use(Float8_e4m3fnuz, 1, "c10::Float8_e4m3fnuz") \
  use(UInt16, 2, "short unsigned int")          \
  use(UInt32, 4, "unsigned int")                \
  use(UInt64, 8, "long unsigned int")

namespace pkwb {

enum class ScalarType : int8_t {
#define PKWB_ENTRY(name, bytes, printed) name,
  PKWB_SCALAR_TYPES(PKWB_ENTRY)
#undef PKWB_ENTRY
};

struct ScalarTypeFacts {
  const char* name;
  size_t bytes;
  const char* printed;
};

inline constexpr ScalarTypeFacts scalar_type_facts[] = {
#define PKWB_ENTRY(name, bytes, printed) {#name, bytes, printed},
    PKWB_SCALAR_TYPES(PKWB_ENTRY)
#undef PKWB_ENTRY
};

// The row of a type; a type that this list does not know has no bytes.
inline ScalarTypeFacts facts_of(ScalarType type) {
  const auto place = static_cast<size_t>(type);
  return place < std::size(scalar_type_facts) ? scalar_type_facts[place] : ScalarTypeFacts{"UNKNOWN_SCALAR", 0, "?"};
}

inline const char* toString(ScalarType type) { return facts_of(type).name; }
inline size_t elementSize(ScalarType type) { return facts_of(type).bytes; }
inline std::ostream& operator<<(std::ostream& out, ScalarType type) { return out << toString(type); }

// What Tensor::dtype() answers: comparable with ScalarType, but no ScalarType itself.
class TypeMeta {
 public:
  explicit TypeMeta(ScalarType type) : type_(type) {}
  size_t itemsize() const { return elementSize(type_); }
  std::string_view name() const { return facts_of(type_).printed; }
  ScalarType toScalarType() const { return type_; }
  friend bool operator==(TypeMeta a, TypeMeta b) { return a.type_ == b.type_; }
  friend bool operator!=(TypeMeta a, TypeMeta b) { return a.type_ != b.type_; }
  friend bool operator==(TypeMeta a, ScalarType b) { return a.type_ == b; }
  friend bool operator!=(TypeMeta a, ScalarType b) { return a.type_ != b; }
  friend bool operator==(ScalarType a, TypeMeta b) { return a == b.type_; }
  friend bool operator!=(ScalarType a, TypeMeta b) { return a != b.type_; }
  friend std::ostream& operator<<(std::ostream& out, TypeMeta meta) { return out << meta.name(); }

 private:
  ScalarType type_;
};

// Of a C++ type: number_types.h says which.
template <typename T>
struct ScalarTypeOf;

inline ScalarType typeMetaToScalarType(TypeMeta meta) { return meta.toScalarType(); }

}  // namespace pkwb
