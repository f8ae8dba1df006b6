"""Which part of the standard library a source needs: most kernels use little of it, and its headers take time."""

from __future__ import annotations

import re


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SMALL = _names(
    """
    abs advance apply array back_inserter begin bool_constant cbegin ceil cend clamp conditional conditional_t copy
    copy_n cos count decay_t declval distance enable_if enable_if_t end equal exception exp fabs false_type fill
    fill_n find floor fmax fmin forward get index_sequence initializer_list int16_t int32_t int64_t int8_t
    integral_constant invalid_argument is_arithmetic_v is_convertible_v is_floating_point is_floating_point_v
    is_integral is_integral_v is_pointer_v is_same is_same_v is_signed_v is_unsigned_v isfinite isinf isnan log log2
    logic_error lround make_index_sequence make_optional make_pair make_tuple max max_element memcmp memcpy memset
    min min_element minmax move next nullopt nullopt_t numeric_limits optional ostringstream out_of_range pair pow
    ptrdiff_t remove_const_t remove_cv_t remove_reference_t reverse rint round runtime_error sin size_t sort sqrt
    string string_view stringstream swap tanh tie to_string transform true_type trunc tuple uint16_t uint32_t
    uint64_t uint8_t uintptr_t vector void_t
    """
)
"""Names that include/pkwb/standard.h has without PKWB_WHOLE_STANDARD."""


def is_small(text: str) -> bool:
    """Whether a source names nothing of the standard library but what the small set of headers has."""
    return "using namespace std" not in text and _SMALL.issuperset(re.findall(r"\bstd::(\w+)", text))
