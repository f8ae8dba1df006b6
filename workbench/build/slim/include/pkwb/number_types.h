// Stands for c10's number types, which are torch's own header-only ones, and for what each means as a ScalarType.
#pragma once

#include <pkwb/scalar_type.h>

#include <torch/headeronly/macros/Macros.h>
#include <torch/headeronly/util/BFloat16.h>
#include <torch/headeronly/util/Float8_e4m3fn.h>
#include <torch/headeronly/util/Float8_e4m3fnuz.h>
#include <torch/headeronly/util/Float8_e5m2.h>
#include <torch/headeronly/util/Float8_e5m2fnuz.h>
#include <torch/headeronly/util/Half.h>
// It brings thrust in and doubles the time to compile: only for sources that name it.
#ifdef PKWB_COMPLEX
#include <torch/headeronly/util/complex.h>
#endif

namespace pkwb {

template <ScalarType type>
struct NumberOf;

#define PKWB_PAIR(number, scalar)                                       \
  template <>                                                           \
  struct ScalarTypeOf<number> {                                         \
    static constexpr ScalarType value = ScalarType::scalar;             \
  };                                                                    \
  template <>                                                           \
  struct NumberOf<ScalarType::scalar> {                                 \
    using type = number;                                                \
  };

// Exactly the types for which torch exports Tensor::data_ptr<T>, quantised ones left out.
PKWB_PAIR(uint8_t, Byte)
PKWB_PAIR(int8_t, Char)
PKWB_PAIR(int16_t, Short)
PKWB_PAIR(int, Int)
PKWB_PAIR(int64_t, Long)
PKWB_PAIR(uint16_t, UInt16)
PKWB_PAIR(uint32_t, UInt32)
PKWB_PAIR(uint64_t, UInt64)
PKWB_PAIR(bool, Bool)
PKWB_PAIR(float, Float)
PKWB_PAIR(double, Double)
PKWB_PAIR(c10::Half, Half)
PKWB_PAIR(c10::BFloat16, BFloat16)
PKWB_PAIR(c10::Float8_e5m2, Float8_e5m2)
PKWB_PAIR(c10::Float8_e4m3fn, Float8_e4m3fn)
PKWB_PAIR(c10::Float8_e5m2fnuz, Float8_e5m2fnuz)
PKWB_PAIR(c10::Float8_e4m3fnuz, Float8_e4m3fnuz)
#ifdef PKWB_COMPLEX
PKWB_PAIR(c10::complex<c10::Half>, ComplexHalf)
PKWB_PAIR(c10::complex<float>, ComplexFloat)
PKWB_PAIR(c10::complex<double>, ComplexDouble)
#endif
#undef PKWB_PAIR

template <ScalarType type>
using NumberOfT = typename NumberOf<type>::type;

}  // namespace pkwb
