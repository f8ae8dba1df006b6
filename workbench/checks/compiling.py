"""What compiling kernels needs: CUDA's compiler where there is no GPU, and room for what is built."""

from __future__ import annotations

import shutil
from pathlib import Path

from workbench.checks.findings import Finding, note, ok, problem
from workbench.files import cache_dir
from workbench.toolchain import find_nvcc, nvcc_version

_MB = 1_000_000
_LEAST = 500 * _MB


def compiler_without_gpus() -> Finding:
    """CUDA kernels compile without a GPU too, where the toolkit is installed."""
    nvcc = find_nvcc()
    if not nvcc:
        return note("nvcc", "not found", "CUDA kernels cannot be compiled here; the other backends run on CPU ranks")
    value = f"{nvcc_version(nvcc) or 'unknown version'}, {nvcc}"
    return ok("nvcc", value, "compiles CUDA kernels, which need a GPU to run")


def cache_finding() -> Finding:
    """Whether what is built and measured can be kept."""
    folder = cache_dir()
    at = next((place for place in (folder, *folder.parents) if place.is_dir()), Path("/"))
    try:
        free = shutil.disk_usage(at).free
    except OSError as error:
        return problem("cache", str(folder), f"cannot be used: {error.strerror}; set PKWB_CACHE_DIR to another folder")
    value = f"{folder}, {free // _MB} MB free"
    if free < _LEAST:
        full = "too little room for builds: `pkwb cache clear`, free the disk, or set PKWB_CACHE_DIR to another folder"
        return note("cache", value, full)
    return ok("cache", value, "builds and measured link rates are kept here; `pkwb cache` shows them")
