"""CUDA text to a module of functions."""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any


def compile_cuda_extension(
    name: str,
    cuda_src: str,
    extra_cuda_cflags: Sequence[str] | None = None,
    extra_include_paths: Sequence[str] | None = None,
    extra_ldflags: Sequence[str] | None = None,
) -> ModuleType:
    """Compile CUDA text that holds its own PYBIND11_MODULE; the first rank that asks compiles, the others wait for it.

    Raises RuntimeError with the compiler's output, and OSError where there is no CUDA toolkit.
    """
    from torch.utils import cpp_extension

    build: Any = cpp_extension.load_inline
    extras = [list(extra or ()) for extra in (extra_cuda_cflags, extra_include_paths, extra_ldflags)]
    digest = hashlib.sha256(repr((name, cuda_src, extras)).encode()).hexdigest()[:16]
    folder = _shared_scratch() / f"{name}-{digest}"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "ranks", "w", encoding="utf-8") as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)
        module: ModuleType = build(
            name=name,
            cpp_sources="",
            cuda_sources=cuda_src,
            extra_cuda_cflags=["-O3", *extras[0]],
            extra_include_paths=extras[1],
            extra_ldflags=extras[2],
            build_directory=str(folder),
            with_cuda=True,
        )
    return module


def _shared_scratch() -> Path:
    """A folder that the ranks of one set share, and that goes away with them."""
    return Path(os.environ["HOME"]).parent / "extensions"
