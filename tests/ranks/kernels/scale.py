"""A kernel that the tests of raw kernels compile, and whether it can be compiled here."""

from __future__ import annotations

import contextlib

import pytest

from workbench.ranks.names.utils import kernels

SCALE = """\
#include <cstdint>
#include <cuda_bf16.h>
template <typename T>
__global__ void scale(T* x, float factor, int64_t count, bool twice, double more) {
  const int64_t i = blockIdx.x * int64_t(blockDim.x) + threadIdx.x;
  if (i < count) x[i] = T(float(x[i]) * factor * (twice ? 2 : 1) + float(more));
}
"""
NAME = "scale<__nv_bfloat16>"


def _nvrtc_there() -> bool:
    with contextlib.suppress(OSError):
        return bool(kernels._nvrtc())
    return False


needs_nvrtc = pytest.mark.skipif(not _nvrtc_there(), reason="this machine has no NVRTC: pip install nvidia-cuda-nvrtc")
