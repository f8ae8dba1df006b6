"""CUDA text to a module of functions."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType

from workbench.ranks.built import built_module
from workbench.ranks.extensions import cuda_extension


def compile_cuda_extension(
    name: str,
    cuda_src: str,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
) -> ModuleType:
    """Compile CUDA text that holds its own PYBIND11_MODULE, once for all ranks, which wait for it.

    Raises RuntimeError with the first error and its place where it cannot be built.
    """
    return built_module(cuda_extension(name, cuda_src, extra_cuda_cflags, extra_include_paths, extra_ldflags))
